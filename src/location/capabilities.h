// What the pools of a form of locations have and can. A back end declares it once, in a row of the table of
// forms (location.cc). Other rooms ask for what they need, never for the name of a back end.
#pragma once

namespace stepstore {

struct Capabilities {
    bool own_store;      // Stepstore's store. Else a DAOS system: its libdaos places dkeys by its own hash,
                         // snapshots have no names, and its own tools make, list and check what is there
    bool directory;      // a directory of a file system, in which other files may lie beside the objects
    bool versions;       // keeps epochs: snapshots, and reads at one
    bool one_machine;    // belongs to one machine at a time. Else machines share it
    bool network;        // each request is a round trip
    bool keeps_copies;   // the medium itself keeps copies on several machines
    bool watches;        // who waits for a key is told (Target::watch)
    bool verifies_keys;  // the medium verifies keys, so that a damaged one is reported and takes no other's
                         // place. Else a miss proves little (store/verify_miss.h)
    bool verifies_cells; // what is read of an array was verified
};

} // namespace stepstore

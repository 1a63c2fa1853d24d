// What the plugin has of ADIOS2's core beyond the public interface.
// Threads: that of the engine, one at a time. Errors: those of the Communicator and of the stream.
#pragma once

#include "stream_adapter.h"

#include <memory>
#include <string>

namespace stepstore::adios {

class PluginHost {
public:
    virtual ~PluginHost() = default;

    virtual adios2::core::Engine* engine() = 0; // the host of StreamAdapter
    virtual steps::Order order() const = 0;     // of the program's arrays
    // Of the ranks of the ADIOS object's communicator those that open the same; collective over it. Null: it
    // has none of MPI.
    virtual std::shared_ptr<Communicator> group(const std::string& key, double timeout_seconds) = 0;

    // The plugin is made before ADIOS2 knows its engine. After that these find it: by its CurrentStep(),
    // which calls the plugin's, which says here_i_am().
    virtual void here_i_am() = 0;
    // Whether Open was given another communicator than the ADIOS object's, and other ranks than `group`.
    virtual bool opened_on_other_than(const Communicator& group) = 0;
    virtual std::shared_ptr<Communicator> given_to_open() = 0; // collective over it

#define put_span(T)                                                                                          \
    virtual void put_span(adios2::Variable<T>& variable, adios2::Variable<T>::Span& span, bool initialize,   \
                          const T& value) = 0;
    ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(put_span)
#undef put_span
    virtual void note_absolute_steps() = 0; // of a reader; see Introspection
    virtual void forget_spans() = 0;        // when their step has ended
};

// Null: ADIOS2's core cannot be used (misfit()). opened: see Introspection.
std::unique_ptr<PluginHost> make_plugin_host(adios2::IO io, const std::string& name, adios2::Mode mode,
                                             const StreamAdapter& opened);

} // namespace stepstore::adios

# What `cmake --install` puts where. find_package(stepstore) is written in packaging/.

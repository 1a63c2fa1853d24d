// What FDB's C++ interface offers and no tool of it does on an engine other than its own:
//   api_test hide DATABASE
//   api_test index DATABASE INDEX DATUM URI OFFSET LENGTH
#include "eckit/filesystem/URI.h"
#include "eckit/runtime/Main.h"
#include "fdb5/LibFdb5.h"
#include "fdb5/config/Config.h"
#include "fdb5/database/Catalogue.h"

#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv)
{
    eckit::Main::initialise(argc, argv);
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    try {
        const auto catalogue = fdb5::CatalogueWriterFactory::instance().build(
            fdb5::Key::parse(arguments.at(1)), fdb5::LibFdb5::instance().defaultConfig());
        if (arguments.front() == "hide") {
            catalogue->hideContents();
        } else {
            catalogue->selectIndex(fdb5::Key::parse(arguments.at(2)));
            catalogue->index(fdb5::Key::parse(arguments.at(3)), eckit::URI(arguments.at(4)),
                             std::stoll(arguments.at(5)), std::stoll(arguments.at(6)));
            catalogue->flush(1);
        }
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}

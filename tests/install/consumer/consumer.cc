#include <stepstore/client.h>

#include <cstdio>
#include <string>

int main(int, char** argv)
{
    using namespace stepstore;
    const std::string text = "hello";
    Pool::create(argv[1]);
    Pool pool = Pool::connect(argv[1]);
    Container container = pool.open_or_create_container("greetings");
    KeyValue values = container.key_value(container.object_id(1, 0, ObjectType::key_value, "S1"));
    values.put("word", std::as_bytes(std::span(text)));
    const auto stored = values.get("word").value();
    std::printf("value: %.*s\n", static_cast<int>(stored.size()),
                reinterpret_cast<const char*>(stored.data()));
    return 0;
}

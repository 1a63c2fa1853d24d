// Access control lists as text: one letter for each bit, in fields with colons between them.
#include "daos/acl.h"

#include "base/text.h"
#include "daos/failure.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

using namespace stepstore::daos;

namespace {

struct Letter {
    char letter;
    unsigned bit;
    const char* words;
};
using Letters = std::span<const Letter>;

constexpr Letter access_letters[] = {{'A', DAOS_ACL_ACCESS_ALLOW, "Allow"},
                                     {'U', DAOS_ACL_ACCESS_AUDIT, "Audit"},
                                     {'L', DAOS_ACL_ACCESS_ALARM, "Alarm"}};
constexpr Letter flag_letters[] = {{'G', DAOS_ACL_FLAG_GROUP, "Group"},
                                   {'S', DAOS_ACL_FLAG_ACCESS_SUCCESS, "Access-Success"},
                                   {'F', DAOS_ACL_FLAG_ACCESS_FAIL, "Access-Failure"},
                                   {'P', DAOS_ACL_FLAG_POOL_INHERIT, "Pool-Inherit"}};
constexpr Letter permission_letters[] = {
    {'r', DAOS_ACL_PERM_READ, "Read"},
    {'w', DAOS_ACL_PERM_WRITE, "Write"},
    {'c', DAOS_ACL_PERM_CREATE_CONT, "Create-Container"},
    {'d', DAOS_ACL_PERM_DEL_CONT, "Delete-Container"},
    {'t', DAOS_ACL_PERM_GET_PROP, "Get-Prop"},
    {'T', DAOS_ACL_PERM_SET_PROP, "Set-Prop"},
    {'a', DAOS_ACL_PERM_GET_ACL, "Get-ACL"},
    {'A', DAOS_ACL_PERM_SET_ACL, "Set-ACL"},
    {'o', DAOS_ACL_PERM_SET_OWNER, "Set-Owner"},
};

struct Special {
    const char* name;
    daos_acl_principal_type type;
    const char* words;
};
constexpr Special specials[] = {{DAOS_ACL_PRINCIPAL_OWNER, DAOS_ACL_OWNER, "Owner"},
                                {DAOS_ACL_PRINCIPAL_OWNER_GRP, DAOS_ACL_OWNER_GROUP, "Owner-Group"},
                                {DAOS_ACL_PRINCIPAL_EVERYONE, DAOS_ACL_EVERYONE, "Everyone"}};

const Special* special_of(std::string_view name)
{
    const auto* found =
        std::ranges::find_if(specials, [&](const Special& each) { return name == each.name; });
    return found == std::end(specials) ? nullptr : found;
}

// The four fields of an entry's text.
struct Fields {
    std::string_view access, flags, principal, permissions;
};
std::optional<Fields> fields_of(const char* text)
{
    const std::string_view all(text, strnlen(text, DAOS_ACL_MAX_ACE_STR_LEN + 1));
    if (all.size() > DAOS_ACL_MAX_ACE_STR_LEN || std::ranges::count(all, ':') != 3) return std::nullopt;
    Fields fields;
    std::string_view rest = all;
    for (std::string_view* field : {&fields.access, &fields.flags, &fields.principal}) {
        const auto end = rest.find(':');
        *field = rest.substr(0, end);
        rest.remove_prefix(end + 1);
    }
    fields.permissions = rest;
    return fields;
}

std::optional<unsigned> bits_of(std::string_view text, Letters letters)
{
    unsigned bits = 0;
    for (const char letter : text) {
        const auto found = std::ranges::find(letters, letter, &Letter::letter);
        if (found == letters.end()) return std::nullopt;
        bits |= found->bit;
    }
    return bits;
}

std::string letters_of(std::uint64_t bits, Letters letters)
{
    std::string text;
    for (const Letter& each : letters)
        if ((bits & each.bit) != 0) text += each.letter;
    return text;
}

std::string words_of(std::string_view text, Letters letters)
{
    std::string words;
    for (const char letter : text) {
        if (!words.empty()) words += '/';
        words += std::ranges::find(letters, letter, &Letter::letter)->words;
    }
    return words;
}

// The permissions of an entry whose access types all have the same; nullopt: they have not.
std::optional<std::uint64_t> permissions_of(const daos_ace& ace)
{
    const std::uint64_t all = ace.dae_allow_perms | ace.dae_audit_perms | ace.dae_alarm_perms;
    const auto differs = [&](unsigned type, std::uint64_t permissions) {
        return (ace.dae_access_types & type) != 0 && permissions != all;
    };
    if (differs(DAOS_ACL_ACCESS_ALLOW, ace.dae_allow_perms) ||
        differs(DAOS_ACL_ACCESS_AUDIT, ace.dae_audit_perms) ||
        differs(DAOS_ACL_ACCESS_ALARM, ace.dae_alarm_perms))
        return std::nullopt;
    return all;
}

std::optional<std::string> text_of(daos_ace* ace)
{
    if (!daos_ace_is_valid(ace)) return std::nullopt;
    const auto permissions = permissions_of(*ace);
    if (!permissions) return std::nullopt;
    return letters_of(ace->dae_access_types, access_letters) + ":" +
           letters_of(ace->dae_access_flags, flag_letters) + ":" + daos_ace_get_principal_str(ace) + ":" +
           letters_of(*permissions, permission_letters);
}

std::optional<std::string> verbose(const char* text)
{
    const auto fields = fields_of(text);
    if (!fields || fields->access.empty() || !bits_of(fields->access, access_letters) ||
        !bits_of(fields->flags, flag_letters) || !bits_of(fields->permissions, permission_letters) ||
        !daos_acl_principal_is_valid(std::string(fields->principal).c_str()))
        return std::nullopt;
    const Special* special = special_of(fields->principal);
    const std::string permissions = words_of(fields->permissions, permission_letters);
    return words_of(fields->access, access_letters) + ":" + words_of(fields->flags, flag_letters) + ":" +
           (special ? std::string(special->words) : std::string(fields->principal)) + ":" +
           (permissions.empty() ? "No-Access" : permissions);
}

// Into a caller's buffer, cut if it is too small.
int give(const std::string& text, char* buffer, std::size_t room)
{
    const std::size_t given = text.copy(buffer, room - 1);
    buffer[given] = '\0';
    return given == text.size() ? 0 : -DER_TRUNC;
}

int parse(const char* text, daos_ace** ace)
{
    const auto fields = fields_of(text);
    if (!fields) return -DER_INVAL;
    const auto access = bits_of(fields->access, access_letters), flags = bits_of(fields->flags, flag_letters),
               permissions = bits_of(fields->permissions, permission_letters);
    const std::string principal(fields->principal);
    if (!access || !flags || !permissions || !daos_acl_principal_is_valid(principal.c_str()))
        return -DER_INVAL;
    const Special* special = special_of(principal);
    const auto type = special                               ? special->type
                      : (*flags & DAOS_ACL_FLAG_GROUP) != 0 ? DAOS_ACL_GROUP
                                                            : DAOS_ACL_USER;
    std::unique_ptr<daos_ace, FreeMemory> made(daos_ace_create(type, principal.c_str()));
    if (!made) return -DER_NOMEM;
    made->dae_access_types = static_cast<std::uint8_t>(*access);
    made->dae_access_flags = static_cast<std::uint16_t>(*flags);
    if ((*access & DAOS_ACL_ACCESS_ALLOW) != 0) made->dae_allow_perms = *permissions;
    if ((*access & DAOS_ACL_ACCESS_AUDIT) != 0) made->dae_audit_perms = *permissions;
    if ((*access & DAOS_ACL_ACCESS_ALARM) != 0) made->dae_alarm_perms = *permissions;
    if (!daos_ace_is_valid(made.get())) return -DER_INVAL;
    *ace = made.release();
    return 0;
}

int parse_all(std::span<const char* const> texts, daos_acl** acl)
{
    std::vector<std::unique_ptr<daos_ace, FreeMemory>> entries;
    std::vector<daos_ace*> pointers;
    for (const char* text : texts) {
        daos_ace* ace = nullptr;
        const int failed = text ? parse(text, &ace) : -DER_INVAL;
        if (failed != 0) return failed;
        entries.emplace_back(ace);
        pointers.push_back(ace);
    }
    if (pointers.size() > UINT16_MAX) return -DER_INVAL;
    Acl made(daos_acl_create(pointers.data(), static_cast<std::uint16_t>(pointers.size())));
    if (!made) return -DER_NOMEM;
    if (const int failed = daos_acl_validate(made.get()); failed != 0) return failed;
    *acl = made.release();
    return 0;
}

// False: an entry has no text.
bool texts_of(daos_acl* acl, std::vector<std::string>& texts)
{
    for (daos_ace* ace = daos_acl_get_next_ace(acl, nullptr); ace; ace = daos_acl_get_next_ace(acl, ace)) {
        auto text = text_of(ace);
        if (!text) return false;
        texts.push_back(std::move(*text));
    }
    return true;
}

void print_words(const char* what, std::uint64_t bits, Letters letters, int tabs)
{
    std::printf("%*s%s: %s\n", tabs * 8, "", what, words_of(letters_of(bits, letters), letters).c_str());
}

template <class Body>
int guarded(Body body) noexcept
{
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return -DER_NOMEM;
    }
}

} // namespace

namespace stepstore::daos {

std::string acl_text(const daos_acl& acl)
{
    std::vector<std::string> texts;
    texts_of(const_cast<daos_acl*>(&acl), texts);
    std::string all;
    for (const std::string& text : texts)
        all += (all.empty() ? "" : ", ") + text;
    return all;
}

} // namespace stepstore::daos

extern "C" {

int daos_ace_from_str(const char* str, struct daos_ace** ace)
{
    if (!str || !ace) return -DER_INVAL;
    return guarded([&] { return parse(str, ace); });
}

int daos_ace_to_str(struct daos_ace* ace, char* buf, size_t buf_len)
{
    if (!ace || !buf || buf_len == 0) return -DER_INVAL;
    return guarded([&] {
        const auto text = text_of(ace);
        return text ? give(*text, buf, buf_len) : -DER_INVAL;
    });
}

int daos_ace_str_get_verbose(const char* ace_str, char* buf, size_t buf_len)
{
    if (!ace_str || !buf || buf_len == 0) return -DER_INVAL;
    return guarded([&] {
        const auto text = verbose(ace_str);
        return text ? give(*text, buf, buf_len) : -DER_INVAL;
    });
}

int daos_acl_from_strs(const char** ace_strs, size_t ace_nr, struct daos_acl** acl)
{
    if (!ace_strs || ace_nr == 0 || !acl) return -DER_INVAL;
    return guarded([&] { return parse_all({ace_strs, ace_nr}, acl); });
}

int daos_acl_to_strs(struct daos_acl* acl, char*** ace_strs, size_t* ace_nr)
{
    if (!ace_strs || !ace_nr) return -DER_INVAL;
    if (const int failed = daos_acl_validate(acl); failed != 0) return failed;
    return guarded([&] {
        std::vector<std::string> texts;
        if (!texts_of(acl, texts)) return -DER_INVAL;
        *ace_strs = nullptr;
        *ace_nr = 0;
        if (texts.empty()) return 0;
        char** list = cleared<char*>(texts.size() * sizeof(char*));
        if (!list) return -DER_NOMEM;
        for (std::size_t i = 0; i < texts.size(); ++i) {
            list[i] = strdup(texts[i].c_str());
            if (list[i]) continue;
            while (i-- > 0)
                std::free(list[i]);
            std::free(list);
            return -DER_NOMEM;
        }
        *ace_strs = list;
        *ace_nr = texts.size();
        return 0;
    });
}

int daos_acl_to_stream(FILE* stream, struct daos_acl* acl, bool with_words)
{
    if (!stream) return -DER_INVAL;
    if (const int failed = daos_acl_validate(acl); failed != 0) return failed;
    return guarded([&] {
        std::vector<std::string> texts;
        if (!texts_of(acl, texts)) return -DER_INVAL;
        bool good = true;
        for (const std::string& text : texts) {
            if (with_words)
                good = good && std::fprintf(stream, "# %s\n", verbose(text.c_str())->c_str()) >= 0;
            good = good && std::fprintf(stream, "%s\n", text.c_str()) >= 0;
        }
        return good ? 0 : -DER_IO;
    });
}

int daos_acl_principal_from_str(const char* principal_str, enum daos_acl_principal_type* type, char** name)
{
    if (!principal_str || !type || !name) return -DER_INVAL;
    if (const Special* special = special_of(principal_str)) {
        *type = special->type;
        *name = nullptr;
        return 0;
    }
    const bool user = std::strncmp(principal_str, "u:", 2) == 0;
    if ((!user && std::strncmp(principal_str, "g:", 2) != 0) ||
        !daos_acl_principal_is_valid(principal_str + 2))
        return -DER_INVAL;
    char* copy = strdup(principal_str + 2);
    if (!copy) return -DER_NOMEM;
    *type = user ? DAOS_ACL_USER : DAOS_ACL_GROUP;
    *name = copy;
    return 0;
}

void daos_ace_dump(struct daos_ace* ace, uint32_t tabs)
{
    guarded([&] {
        const int indent = static_cast<int>(std::min<std::uint32_t>(tabs, 10));
        if (!ace) {
            std::printf("%*sAccess control entry: NULL\n", indent * 8, "");
            return 0;
        }
        const bool named = ace->dae_principal_len > 0;
        std::printf("%*sAccess control entry of %.*s\n", indent * 8, "",
                    named ? static_cast<int>(ace->dae_principal_len) : 10, daos_ace_get_principal_str(ace));
        print_words("access", ace->dae_access_types, access_letters, indent + 1);
        print_words("flags", ace->dae_access_flags, flag_letters, indent + 1);
        print_words("allow", ace->dae_allow_perms, permission_letters, indent + 1);
        print_words("audit", ace->dae_audit_perms, permission_letters, indent + 1);
        print_words("alarm", ace->dae_alarm_perms, permission_letters, indent + 1);
        return 0;
    });
}

void daos_acl_dump(struct daos_acl* acl)
{
    if (!acl) {
        std::printf("Access control list: NULL\n");
        return;
    }
    std::printf("Access control list of version %u, %u bytes\n", acl->dal_ver, acl->dal_len);
    for (daos_ace* ace = daos_acl_get_next_ace(acl, nullptr); ace; ace = daos_acl_get_next_ace(acl, ace))
        daos_ace_dump(ace, 1);
}

} // extern "C"

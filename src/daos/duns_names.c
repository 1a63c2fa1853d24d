/* What libduns.so is: the calls of daos_uns.h under their names. The library that has them cannot, since
 * libduns has one name at link time and at run time, and programs may find it before libdaos. */
#include <daos_uns.h>

int stepstore_duns_resolve_path(const char* path, struct duns_attr_t* attr);
int stepstore_duns_create_path(daos_handle_t poh, const char* path, struct duns_attr_t* attrp);
int stepstore_duns_link_cont(daos_handle_t poh, const char* cont, const char* path);
int stepstore_duns_destroy_path(daos_handle_t poh, const char* path);
int stepstore_duns_parse_attr(char* str, daos_size_t len, struct duns_attr_t* attr);
int stepstore_duns_set_sys_name(struct duns_attr_t* attrp, const char* sys);
void stepstore_duns_destroy_attr(struct duns_attr_t* attrp);

int duns_resolve_path(const char* path, struct duns_attr_t* attr)
{
    return stepstore_duns_resolve_path(path, attr);
}

int duns_create_path(daos_handle_t poh, const char* path, struct duns_attr_t* attrp)
{
    return stepstore_duns_create_path(poh, path, attrp);
}

int duns_link_cont(daos_handle_t poh, const char* cont, const char* path)
{
    return stepstore_duns_link_cont(poh, cont, path);
}

int duns_destroy_path(daos_handle_t poh, const char* path)
{
    return stepstore_duns_destroy_path(poh, path);
}

int duns_parse_attr(char* str, daos_size_t len, struct duns_attr_t* attr)
{
    return stepstore_duns_parse_attr(str, len, attr);
}

int duns_set_sys_name(struct duns_attr_t* attrp, const char* sys)
{
    return stepstore_duns_set_sys_name(attrp, sys);
}

void duns_destroy_attr(struct duns_attr_t* attrp)
{
    stepstore_duns_destroy_attr(attrp);
}

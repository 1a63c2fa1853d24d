#include <daos.h>
#include <stdio.h>

int main(int argc, char** argv)
{
    daos_handle_t pool, container, values;
    daos_obj_id_t oid = {.lo = 1, .hi = 0};
    char value[16] = {0};
    daos_size_t size = sizeof value - 1;
    int rc;

    (void)argc;
    if ((rc = daos_init()) != 0 ||
        (rc = daos_pool_connect(argv[1], NULL, DAOS_PC_RW, &pool, NULL, NULL)) != 0 ||
        (rc = daos_cont_open(pool, "greetings", DAOS_COO_RO, &container, NULL, NULL)) != 0 ||
        (rc = daos_obj_generate_oid(container, &oid, DAOS_OT_KV_HASHED, OC_S1, 0, 0)) != 0 ||
        (rc = daos_kv_open(container, oid, DAOS_OO_RO, &values, NULL)) != 0 ||
        (rc = daos_kv_get(values, DAOS_TX_NONE, 0, "word", &size, value, NULL)) != 0) {
        fprintf(stderr, "failed: %d\n", rc);
        return 1;
    }
    printf("value: %s\n", value);
    daos_kv_close(values, NULL);
    daos_cont_close(container, NULL);
    daos_pool_disconnect(pool, NULL);
    return daos_fini();
}

/*
 * The layout of every structure, as libdaos 2.6.5 has it on a 64-bit machine. The compiler checks it, so that
 * a program built with one of the two runs with the other.
 */
#define _GNU_SOURCE
#include "check.h"

#include <daos_uns.h>
#include <gurt/hash.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type);
#define AT(type, member, bytes)                                                                              \
    _Static_assert(offsetof(type, member) == (bytes), "offset of " #member " in " #type);

/* clang-format off */
SIZE(daos_handle_t, 8)
AT(daos_handle_t, cookie, 0)
SIZE(d_iov_t, 24)
AT(d_iov_t, iov_buf, 0) AT(d_iov_t, iov_buf_len, 8) AT(d_iov_t, iov_len, 16)
SIZE(d_sg_list_t, 16)
AT(d_sg_list_t, sg_nr, 0) AT(d_sg_list_t, sg_nr_out, 4) AT(d_sg_list_t, sg_iovs, 8)
SIZE(d_rank_list_t, 16)
AT(d_rank_list_t, rl_ranks, 0) AT(d_rank_list_t, rl_nr, 8)
SIZE(daos_epoch_range_t, 16)
AT(daos_epoch_range_t, epr_lo, 0) AT(daos_epoch_range_t, epr_hi, 8)
SIZE(daos_anchor_t, 120)
AT(daos_anchor_t, da_type, 0) AT(daos_anchor_t, da_shard, 2) AT(daos_anchor_t, da_flags, 4)
AT(daos_anchor_t, da_sub_anchors, 8) AT(daos_anchor_t, da_buf, 16)
SIZE(daos_obj_id_t, 16)
AT(daos_obj_id_t, lo, 0) AT(daos_obj_id_t, hi, 8)
SIZE(daos_cont_info_t, 48)
AT(daos_cont_info_t, ci_uuid, 0) AT(daos_cont_info_t, ci_lsnapshot, 16) AT(daos_cont_info_t, ci_nhandles, 24)
AT(daos_cont_info_t, ci_nsnapshots, 28) AT(daos_cont_info_t, ci_md_otime, 32)
AT(daos_cont_info_t, ci_md_mtime, 40)
SIZE(daos_event_t, 176)
AT(daos_event_t, ev_error, 0) AT(daos_event_t, ev_private, 8) AT(daos_event_t, ev_debug, 168)
SIZE(daos_range_t, 16)
AT(daos_range_t, rg_idx, 0) AT(daos_range_t, rg_len, 8)
SIZE(daos_array_iod_t, 32)
AT(daos_array_iod_t, arr_nr, 0) AT(daos_array_iod_t, arr_rgs, 8) AT(daos_array_iod_t, arr_nr_short_read, 16)
AT(daos_array_iod_t, arr_nr_read, 24)
SIZE(daos_array_stbuf_t, 16)
AT(daos_array_stbuf_t, st_size, 0) AT(daos_array_stbuf_t, st_max_epoch, 8)
SIZE(daos_key_desc_t, 16)
AT(daos_key_desc_t, kd_key_len, 0) AT(daos_key_desc_t, kd_val_type, 8)
SIZE(daos_recx_t, 16)
AT(daos_recx_t, rx_idx, 0) AT(daos_recx_t, rx_nr, 8)
SIZE(struct daos_obj_attr, 16)
AT(struct daos_obj_attr, oa_rank, 0) AT(struct daos_obj_attr, oa_oa, 8)
SIZE(daos_iod_type_t, 4)
SIZE(daos_iod_t, 64)
AT(daos_iod_t, iod_name, 0) AT(daos_iod_t, iod_type, 24) AT(daos_iod_t, iod_size, 32)
AT(daos_iod_t, iod_flags, 40) AT(daos_iod_t, iod_nr, 48) AT(daos_iod_t, iod_recxs, 56)
SIZE(daos_iom_t, 64)
AT(daos_iom_t, iom_type, 0) AT(daos_iom_t, iom_nr, 4) AT(daos_iom_t, iom_nr_out, 8)
AT(daos_iom_t, iom_flags, 12) AT(daos_iom_t, iom_size, 16) AT(daos_iom_t, iom_recx_lo, 24)
AT(daos_iom_t, iom_recx_hi, 40) AT(daos_iom_t, iom_recxs, 56)
SIZE(struct daos_acl, 8)
AT(struct daos_acl, dal_ver, 0) AT(struct daos_acl, dal_len, 4) AT(struct daos_acl, dal_ace, 8)
SIZE(struct daos_ace, 32)
AT(struct daos_ace, dae_access_types, 0) AT(struct daos_ace, dae_principal_type, 1)
AT(struct daos_ace, dae_principal_len, 2) AT(struct daos_ace, dae_access_flags, 4)
AT(struct daos_ace, dae_allow_perms, 8) AT(struct daos_ace, dae_audit_perms, 16)
AT(struct daos_ace, dae_alarm_perms, 24) AT(struct daos_ace, dae_principal, 32)
SIZE(d_list_t, 16)
AT(d_list_t, next, 0) AT(d_list_t, prev, 8)
SIZE(d_hash_table_ops_t, 64)
AT(d_hash_table_ops_t, hop_key_cmp, 0) AT(d_hash_table_ops_t, hop_key_init, 8)
AT(d_hash_table_ops_t, hop_key_hash, 16) AT(d_hash_table_ops_t, hop_rec_hash, 24)
AT(d_hash_table_ops_t, hop_rec_addref, 32) AT(d_hash_table_ops_t, hop_rec_decref, 40)
AT(d_hash_table_ops_t, hop_rec_ndecref, 48) AT(d_hash_table_ops_t, hop_rec_free, 56)
AT(struct d_hash_table, ht_bits, 56) AT(struct d_hash_table, ht_feats, 60)
AT(struct d_hash_table, ht_priv, 64) AT(struct d_hash_table, ht_ops, 72)
AT(struct d_hash_table, ht_buckets, 80) AT(struct d_hash_table, ht_locks, 88)
SIZE(struct d_hash_table, 96)
SIZE(struct duns_attr_t, 480)
AT(struct duns_attr_t, da_type, 0) AT(struct duns_attr_t, da_oclass_id, 4)
AT(struct duns_attr_t, da_chunk_size, 8) AT(struct duns_attr_t, da_props, 16)
AT(struct duns_attr_t, da_flags, 24) AT(struct duns_attr_t, da_pool, 28) AT(struct duns_attr_t, da_cont, 156)
AT(struct duns_attr_t, da_sys, 288) AT(struct duns_attr_t, da_rel_path, 296)
AT(struct duns_attr_t, da_on_lustre, 304) AT(struct duns_attr_t, da_no_prefix, 305)
AT(struct duns_attr_t, da_puuid, 306) AT(struct duns_attr_t, da_cuuid, 322)
AT(struct duns_attr_t, da_dir_oclass_id, 340) AT(struct duns_attr_t, da_file_oclass_id, 344)
AT(struct duns_attr_t, da_hints, 348)
SIZE(daos_prop_t, 16)
AT(daos_prop_t, dpp_nr, 0) AT(daos_prop_t, dpp_reserv, 4) AT(daos_prop_t, dpp_entries, 8)
SIZE(struct daos_prop_entry, 16)
AT(struct daos_prop_entry, dpe_type, 0) AT(struct daos_prop_entry, dpe_flags, 4)
AT(struct daos_prop_entry, dpe_reserv, 6) AT(struct daos_prop_entry, dpe_val, 8)
AT(struct daos_prop_entry, dpe_str, 8) AT(struct daos_prop_entry, dpe_val_ptr, 8)
SIZE(struct daos_space, 32)
AT(struct daos_space, s_total, 0) AT(struct daos_space, s_free, 16)
SIZE(struct daos_pool_space, 88)
AT(struct daos_pool_space, ps_space, 0) AT(struct daos_pool_space, ps_free_min, 32)
AT(struct daos_pool_space, ps_free_max, 48) AT(struct daos_pool_space, ps_free_mean, 64)
AT(struct daos_pool_space, ps_ntargets, 80) AT(struct daos_pool_space, ps_padding, 84)
SIZE(struct daos_rebuild_status, 56)
AT(struct daos_rebuild_status, rs_version, 0) AT(struct daos_rebuild_status, rs_seconds, 4)
AT(struct daos_rebuild_status, rs_errno, 8) AT(struct daos_rebuild_status, rs_state, 12)
AT(struct daos_rebuild_status, rs_done, 12) AT(struct daos_rebuild_status, rs_max_supported_layout_ver, 16)
AT(struct daos_rebuild_status, rs_padding16, 18) AT(struct daos_rebuild_status, rs_fail_rank, 20)
AT(struct daos_rebuild_status, rs_toberb_obj_nr, 24) AT(struct daos_rebuild_status, rs_obj_nr, 32)
AT(struct daos_rebuild_status, rs_rec_nr, 40) AT(struct daos_rebuild_status, rs_size, 48)
SIZE(daos_pool_info_t, 192)
AT(daos_pool_info_t, pi_uuid, 0) AT(daos_pool_info_t, pi_ntargets, 16) AT(daos_pool_info_t, pi_nnodes, 20)
AT(daos_pool_info_t, pi_ndisabled, 24) AT(daos_pool_info_t, pi_map_ver, 28)
AT(daos_pool_info_t, pi_leader, 32)
AT(daos_pool_info_t, pi_bits, 40) AT(daos_pool_info_t, pi_space, 48) AT(daos_pool_info_t, pi_rebuild_st, 136)
SIZE(daos_target_info_t, 48)
AT(daos_target_info_t, ta_type, 0) AT(daos_target_info_t, ta_state, 4) AT(daos_target_info_t, ta_perf, 8)
AT(daos_target_info_t, ta_space, 16)
SIZE(struct daos_pool_cont_info, 144)
AT(struct daos_pool_cont_info, pci_uuid, 0) AT(struct daos_pool_cont_info, pci_label, 16)
SIZE(daos_oclass_id_t, 4)
SIZE(daos_oclass_hints_t, 2)
SIZE(daos_size_t, 8)
SIZE(daos_off_t, 8)
SIZE(daos_epoch_t, 8)
SIZE(uuid_t, 16)
SIZE(d_rank_t, 4)
SIZE(daos_cont_layout_t, 2)
SIZE(enum daos_otype_t, 4)
SIZE(daos_eq_query_t, 4)
SIZE(enum daos_snapshot_opts, 4)
    /* clang-format on */

    /* The inline helpers read these layouts. */
    int main(void)
{
    daos_anchor_t anchor = DAOS_ANCHOR_INIT;
    d_iov_t iov;
    char bytes[3];
    daos_handle_t const invalid = DAOS_HDL_INVAL;
    daos_handle_t const valid = {7};
    CHECK(!daos_anchor_is_eof(&anchor));
    anchor.da_type = DAOS_ANCHOR_TYPE_EOF;
    CHECK(daos_anchor_is_eof(&anchor));
    daos_anchor_init(&anchor, 0);
    CHECK(!daos_anchor_is_eof(&anchor));
    d_iov_set(&iov, bytes, sizeof bytes);
    CHECK(iov.iov_buf == bytes && iov.iov_len == 3 && iov.iov_buf_len == 3);
    CHECK(daos_handle_is_inval(invalid) && !daos_handle_is_valid(invalid));
    CHECK(daos_handle_is_valid(valid) && !daos_handle_is_inval(valid));
    CHECK(daos_label_is_valid("a-label_1.2:3") && !daos_label_is_valid("a label") &&
          !daos_label_is_valid(""));
    CHECK(!daos_label_is_valid("01234567-89ab-cdef-0123-456789abcdef") && !daos_label_is_valid(NULL));
    CHECK(daos_label_is_valid("01234567-89ab-cdef-0123-456789abcde"));
    CHECK(daos_is_valid_uuid_string("01234567-89ab-cdef-0123-456789ABCDEF"));
    CHECK(!daos_is_valid_uuid_string("01234567-89ab-cdef-0123-456789abcdeg"));
    return 0;
}

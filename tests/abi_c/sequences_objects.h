/* Objects of dkeys and akeys. A part of sequences.c. */
CALL(daos_obj_generate_oid)
{
    NO_EVENT;
    return daos_obj_generate_oid(any_handle(CONTAINER), memory_or_null(sizeof(daos_obj_id_t)),
                                 (enum daos_otype_t)below(wrong(2) ? 20 : 14),
                                 wrong(4) ? (daos_oclass_id_t)any_number() : OC_UNKNOWN,
                                 wrong(4) ? (daos_oclass_hints_t)any_flags() : 0, wrong(4));
}
CALL(daos_obj_open)
{
    daos_handle_t const container = any_handle(CONTAINER);
    return daos_obj_open(container, any_oid(container), any_mode(), new_handle(OBJECT), ev);
}
CALL(daos_obj_close)
{
    return one_in(12) ? daos_obj_close(any_handle(OBJECT), ev) : 0;
}
CALL(daos_obj_punch)
{
    return one_in(12) ? daos_obj_punch(any_handle(OBJECT), th(), any_flags(), ev) : 0;
}
CALL(daos_obj_update)
{
    unsigned nr;
    daos_iod_t* const iods = any_iods(&nr);
    d_sg_list_t* const lists = lists_of(iods);
    return daos_obj_update(any_handle(OBJECT), th(), any_flags(), any_byte_key(), nr, iods, lists, ev);
}
CALL(daos_obj_fetch)
{
    unsigned nr;
    daos_iod_t* const iods = any_iods(&nr);
    d_sg_list_t* const lists = lists_of(iods);
    if (one_in(3)) {
        made.ioms = memory(3 * sizeof *made.ioms);
        made.ioms_nr = 3;
        for (int i = 0; i < 3; ++i) {
            memset(&made.ioms[i], 0, sizeof made.ioms[i]);
            made.ioms[i].iom_flags = wrong(12) ? (uint32_t)any_number() : below(2);
        }
    }
    return daos_obj_fetch(any_handle(OBJECT), th(), any_flags(), any_byte_key(), nr, iods, lists, made.ioms,
                          ev);
}
CALL(daos_obj_punch_dkeys)
{
    return daos_obj_punch_dkeys(any_handle(OBJECT), th(), any_flags(), one_in(8) ? below(3) : 1,
                                any_byte_key(), ev);
}
CALL(daos_obj_punch_akeys)
{
    return daos_obj_punch_akeys(any_handle(OBJECT), th(), any_flags(), any_byte_key(), below(2),
                                any_byte_key(), ev);
}
CALL(daos_obj_list_dkey)
{
    return daos_obj_list_dkey(any_handle(OBJECT), th(), room(5), memory_or_null(5 * sizeof(daos_key_desc_t)),
                              any_list(below(400)), any_anchor(), ev);
}
CALL(daos_obj_list_akey)
{
    return daos_obj_list_akey(any_handle(OBJECT), th(), any_byte_key(), room(5),
                              memory_or_null(5 * sizeof(daos_key_desc_t)), any_list(below(400)), any_anchor(),
                              ev);
}
CALL(daos_obj_key2anchor)
{
    return daos_obj_key2anchor(any_handle(OBJECT), th(), any_byte_key(), one_in(2) ? any_byte_key() : NULL,
                               any_anchor(), ev);
}
CALL(daos_obj_list_recx)
{
    return daos_obj_list_recx(any_handle(OBJECT), th(), any_byte_key(), any_byte_key(),
                              memory_or_null(sizeof(daos_size_t)), room(5),
                              memory_or_null(5 * sizeof(daos_recx_t)),
                              memory_or_null(5 * sizeof(daos_epoch_range_t)), any_anchor(), one_in(2), ev);
}
CALL(daos_obj_query)
{
    return daos_obj_query(any_handle(OBJECT), memory_or_null(sizeof(struct daos_obj_attr)),
                          memory_or_null(sizeof(d_rank_list_t)), ev);
}
CALL(daos_obj_query_key)
{
    return daos_obj_query_key(any_handle(OBJECT), th(), wrong(8) ? any_number() : below(32), any_byte_key(),
                              any_byte_key(), memory_or_null(sizeof(daos_recx_t)), ev);
}
CALL(daos_obj_query_max_epoch)
{
    return daos_obj_query_max_epoch(any_handle((enum kind)(OBJECT + below(3))), th(),
                                    memory_or_null(sizeof(daos_epoch_t)), ev);
}
CALL(daos_oclass_id2name)
{
    NO_EVENT;
    daos_oclass_id2name((daos_oclass_id_t)any_number(), memory(MAX_OBJ_CLASS_NAME_LEN));
    return 0;
}
CALL(daos_oclass_name2id)
{
    NO_EVENT;
    char const* const name = any_key();
    if (name) daos_oclass_name2id(name);
    return 0;
}
CALL(daos_oclass_names_list)
{
    NO_EVENT;
    size_t const size = below(600);
    daos_oclass_names_list(size, memory(size));
    return 0;
}
CALL(daos_oit_open)
{
    return daos_oit_open(any_handle(CONTAINER), any_epoch(), new_handle(TABLE), ev);
}
CALL(daos_oit_close)
{
    return one_in(3) ? daos_oit_close(any_handle(TABLE), ev) : 0;
}
CALL(daos_oit_list)
{
    return daos_oit_list(any_handle(TABLE), memory_or_null(5 * sizeof(daos_obj_id_t)), room(5), any_anchor(),
                         ev);
}
CALL(stepstore_cont_objects)
{
    NO_EVENT;
    return stepstore_cont_objects(any_handle(CONTAINER), th(), one_in(2), wrong(12) ? NULL : each_object,
                                  NULL);
}
CALL(stepstore_cont_object)
{
    NO_EVENT;
    daos_handle_t const container = any_handle(CONTAINER);
    return stepstore_cont_object(container, th(), any_oid(container), wrong(12) ? NULL : each_object, NULL);
}

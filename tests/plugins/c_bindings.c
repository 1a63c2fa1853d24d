#include "c_bindings.h"

#include <adios2_c.h>
#include <string.h>

// Every call of ADIOS2 has to work.
#define CALL(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != adios2_error_none) return __LINE__;                                                    \
    } while (0)
#define NEED(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition)) return __LINE__;                                                                   \
    } while (0)

static adios2_adios* start(const c_bindings_run* run)
{
#if ADIOS2_USE_MPI
    return adios2_init(run->comm);
#else
    (void)run;
    return adios2_init();
#endif
}

static adios2_io* make_io(adios2_adios* adios, const c_bindings_run* run, const char* more)
{
    char all[4096];
    adios2_io* io = adios2_declare_io(adios, "io");
    if (io == NULL || adios2_set_engine(io, run->engine) != adios2_error_none) return NULL;
    if (run->parameters[0] == '\0') return io;
    all[0] = '\0';
    strncat(all, run->parameters, sizeof all - 1);
    strncat(all, more, sizeof all - strlen(all) - 1);
    return adios2_set_parameters(io, all) == adios2_error_none ? io : NULL;
}

int c_bindings_write(const c_bindings_run* run)
{
    const size_t shape[2] = {2 * run->ranks, c_bindings_columns}, start_at[2] = {2 * run->rank, 0};
    const size_t count[2] = {2, c_bindings_columns};
    const int corner[2] = {3, -4};
    adios2_adios* adios = start(run);
    adios2_io* io = make_io(adios, run, "");
    NEED(io != NULL);
    adios2_variable* field = adios2_define_variable(io, "field", adios2_type_double, 2, shape, start_at,
                                                    count, adios2_constant_dims_true);
    adios2_variable* number = adios2_define_variable(io, "number", adios2_type_int32_t, 0, NULL, NULL, NULL,
                                                     adios2_constant_dims_true);
    adios2_variable* text = adios2_define_variable(io, "text", adios2_type_string, 0, NULL, NULL, NULL,
                                                   adios2_constant_dims_true);
    NEED(field != NULL && number != NULL && text != NULL);
    NEED(adios2_define_attribute(io, "unit", adios2_type_string, "kg") != NULL);
    NEED(adios2_define_attribute_array(io, "corner", adios2_type_int32_t, corner, 2) != NULL);
    adios2_engine* engine = adios2_open(io, run->name, adios2_mode_write);
    NEED(engine != NULL);
    for (int step = 0; step < c_bindings_steps; ++step) {
        adios2_step_status status = adios2_step_status_other_error;
        double cells[2 * c_bindings_columns];
        for (size_t i = 0; i < 2 * c_bindings_columns; ++i)
            cells[i] = 1000.0 * step + 100.0 * (double)run->rank + (double)i;
        CALL(adios2_begin_step(engine, adios2_step_mode_append, -1.0F, &status));
        NEED(status == adios2_step_status_ok);
        CALL(adios2_put(engine, field, cells, adios2_mode_deferred));
        CALL(adios2_put(engine, number, &step, adios2_mode_sync));
        CALL(adios2_put_by_name(engine, "text", step == 1 ? "one" : "another", adios2_mode_sync));
        CALL(adios2_end_step(engine));
    }
    CALL(adios2_close(engine));
    CALL(adios2_finalize(adios));
    return 0;
}

static void note(c_bindings_transcript* seen, double number)
{
    if (seen->count < c_bindings_seen) seen->numbers[seen->count] = number;
    ++seen->count;
}

static int look_at_blocks(adios2_engine* engine, adios2_variable* field, size_t step,
                          c_bindings_transcript* seen)
{
    adios2_varinfo* info = adios2_inquire_blockinfo(engine, field, step);
    NEED(info != NULL);
    note(seen, (double)info->nblocks);
    note(seen, info->Dims);
    for (size_t i = 0; i < info->nblocks; ++i) {
        const adios2_blockinfo* block = &info->BlocksInfo[i];
        note(seen, block->WriterID);
        note(seen, (double)block->BlockID);
        note(seen, (double)block->Start[0]);
        note(seen, (double)block->Count[1]);
        note(seen, block->MinUnion.d);
        note(seen, block->MaxUnion.d);
    }
    adios2_free_blockinfo(info);
    return 0;
}

static int look_at_step(adios2_io* io, adios2_engine* engine, const c_bindings_run* run, size_t step,
                        int at_random, c_bindings_transcript* seen)
{
    double cells[c_bindings_seen];
    size_t ndims = 0, shape[2] = {0, 0};
    int number = -1, corner[2] = {0, 0};
    size_t size = 0;
    char text[64] = "";
    adios2_variable* field = adios2_inquire_variable(io, "field");
    adios2_variable* value = adios2_inquire_variable(io, "number");
    adios2_variable* words = adios2_inquire_variable(io, "text");
    NEED(field != NULL && value != NULL && words != NULL);
    CALL(adios2_variable_ndims(&ndims, field));
    NEED(ndims == 2);
    CALL(adios2_variable_shape(shape, field));
    NEED(shape[0] == 2 * run->ranks && shape[1] == c_bindings_columns);
    if (at_random) {
        CALL(adios2_set_step_selection(field, step, 1));
        CALL(adios2_set_step_selection(value, step, 1));
        CALL(adios2_set_step_selection(words, step, 1));
    }
    const size_t from[2] = {1, 1}, box[2] = {2 * run->ranks - 1, 3};
    CALL(adios2_set_selection(field, 2, from, box));
    CALL(adios2_get(engine, field, cells, adios2_mode_deferred));
    CALL(adios2_get(engine, value, &number, adios2_mode_sync));
    CALL(adios2_perform_gets(engine));
    CALL(adios2_get(engine, words, text, adios2_mode_sync));
    NEED(number == (int)step && cells[0] == 1000.0 * (double)step + c_bindings_columns + 1);
    for (size_t i = 0; i < box[0] * box[1]; ++i)
        note(seen, cells[i]);
    strncat(seen->texts, text, sizeof seen->texts - strlen(seen->texts) - 1);
    adios2_attribute* unit = adios2_inquire_attribute(io, "unit");
    adios2_attribute* corners = adios2_inquire_attribute(io, "corner");
    NEED(unit != NULL && corners != NULL);
    memset(text, 0, sizeof text);
    CALL(adios2_attribute_data(text, &size, unit));
    strncat(seen->texts, text, sizeof seen->texts - strlen(seen->texts) - 1);
    CALL(adios2_attribute_data(corner, &size, corners));
    NEED(size == 2);
    note(seen, corner[0]);
    note(seen, corner[1]);
    return look_at_blocks(engine, field, step, seen);
}

int c_bindings_read(const c_bindings_run* run, int at_random, c_bindings_transcript* seen)
{
    adios2_adios* adios = start(run);
    adios2_io* io = make_io(adios, run, at_random ? ",Reading=random" : ",Reading=stream");
    NEED(io != NULL);
    adios2_engine* engine =
        adios2_open(io, run->name, at_random ? adios2_mode_readRandomAccess : adios2_mode_read);
    NEED(engine != NULL);
    adios2_step_status status = adios2_step_status_ok;
    for (size_t step = 0; step < c_bindings_steps; ++step) {
        size_t current = 99;
        if (!at_random) {
            CALL(adios2_begin_step(engine, adios2_step_mode_read, -1.0F, &status));
            NEED(status == adios2_step_status_ok);
            CALL(adios2_current_step(&current, engine));
            NEED(current == step);
        }
        const int failed =
            look_at_step(io, engine, run, at_random ? c_bindings_steps - 1 - step : step, at_random, seen);
        if (failed != 0) return failed;
        if (!at_random) CALL(adios2_end_step(engine));
    }
    if (at_random) {
        size_t steps = 0;
        CALL(adios2_steps(&steps, engine));
        NEED(steps == c_bindings_steps);
    } else {
        CALL(adios2_begin_step(engine, adios2_step_mode_read, -1.0F, &status));
        NEED(status == adios2_step_status_end_of_stream);
    }
    CALL(adios2_close(engine));
    CALL(adios2_finalize(adios));
    return 0;
}

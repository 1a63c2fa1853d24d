// stepstore-mount: shows the file system of a container in a directory, until that is unmounted or SIGTERM.
//
//   stepstore-mount [--read-only] [--foreground] [--allow-other] [--snapshot NAME|EPOCH] POOL CONTAINER DIR
//
// `stepstore mount` starts it, with absolute paths and after a look at the directory. It ends when the mount
// answers, or with one line on stderr that says why it does not: status 3 if the pool, the container or the
// snapshot is not there, else 1.
//
// The process that goes on is forked before anything of the pool is open. A pipe tells the first one that the
// mount answers. If the pipe is closed without a byte, the status is that of the child.
#include "mount/mount.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace stepstore::mounting {
namespace {

struct Settings {
    bool read_only = false;
    bool foreground = false;
    bool allow_other = false;
    const char* snapshot = nullptr;
    const char* pool = nullptr;
    const char* container = nullptr;
    const char* directory = nullptr;
};

int ready_pipe = -1; // none: in the foreground

fuse_session* session = nullptr;

// The kernel's first request has come.
void report_ready()
{
    if (ready_pipe < 0) return;
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (nowhere >= 0) dup2(nowhere, fd);
    if (nowhere > STDERR_FILENO) close(nowhere);
    say_to_log();
    // Nobody waits any more: the command was interrupted.
    if (write(ready_pipe, "", 1) != 1) fuse_session_exit(session);
    close(ready_pipe);
    ready_pipe = -1;
}

void do_init(void* mount, fuse_conn_info* connection)
{
    connection->want &= ~static_cast<unsigned>(FUSE_CAP_READDIRPLUS | FUSE_CAP_SPLICE_READ);
    static_cast<Mount*>(mount)->ready();
}

void log_of_libfuse(fuse_log_level, const char* format, va_list arguments)
{
    char line[1024];
    std::vsnprintf(line, sizeof line, format, arguments);
    line[strcspn(line, "\n")] = '\0';
    say(line);
}

int fail(const std::string& message, int status = 1)
{
    say(message.c_str());
    return status;
}

// Epochs are numbers; a name that is one, too, is looked for first.
int connect(const Settings& settings, dfs_t** fs)
{
    const int access = settings.read_only ? O_RDONLY : O_RDWR;
    if (!settings.snapshot)
        return dfs_connect(settings.pool, nullptr, settings.container, access, nullptr, fs);
    const auto at = [&](daos_epoch_t epoch, const char* name) {
        return dfs_connect_snap(settings.pool, nullptr, settings.container, O_RDONLY, epoch, name, fs);
    };
    const int error = at(0, settings.snapshot);
    char* end = nullptr;
    errno = 0;
    const unsigned long long epoch = std::strtoull(settings.snapshot, &end, 10);
    if (error != ENOENT || *end != '\0' || errno != 0 || epoch == 0) return error;
    return at(epoch, nullptr);
}

int show(const Settings& settings, Mount& mount)
{
    fuse_lowlevel_ops table{};
    table.init = do_init;
    for (const auto add :
         {add_names, add_removals, add_listings, add_data, add_attributes, add_extended_attributes})
        add(table);
    const std::string source = std::string(settings.pool) + '/' + settings.container +
                               (settings.snapshot ? std::string("@") + settings.snapshot : "");
    std::string plain = "subtype=stepstore,default_permissions";
    if (settings.read_only) plain += ",ro";
    if (settings.allow_other) plain += ",allow_other";
    char* options = nullptr;
    fuse_args words = FUSE_ARGS_INIT(0, nullptr);
    if (fuse_opt_add_opt(&options, plain.c_str()) != 0 ||
        fuse_opt_add_opt_escaped(&options, ("fsname=" + source).c_str()) != 0 ||
        fuse_opt_add_arg(&words, "stepstore-mount") != 0 || fuse_opt_add_arg(&words, "-o") != 0 ||
        fuse_opt_add_arg(&words, options) != 0)
        return fail("out of memory");
    session = fuse_session_new(&words, &table, sizeof table, &mount);
    int status = 1;
    if (session) {
        if (fuse_set_signal_handlers(session) == 0) {
            if (fuse_session_mount(session, settings.directory) == 0) {
                // A signal is a way to end, and so is `fusermount3 -u`.
                status = fuse_session_loop_mt(session, 0) >= 0 ? 0 : 1;
                fuse_session_unmount(session);
            }
            fuse_remove_signal_handlers(session);
        }
        fuse_session_destroy(session);
    }
    fuse_opt_free_args(&words);
    std::free(options);
    return status;
}

int serve(const Settings& settings)
{
    fuse_set_log_func(log_of_libfuse);
    dfs_t* fs = nullptr;
    dfs_obj_t* root = nullptr;
    int error = dfs_init();
    if (error == 0) error = connect(settings, &fs);
    if (error == 0)
        error = dfs_lookup(fs, "/", settings.read_only ? O_RDONLY : O_RDWR, &root, nullptr, nullptr);
    if (error != 0) return fail(dfs_last_message(), error == ENOENT ? 3 : 1);
    int status = 1;
    {
        Mount mount(fs, settings.read_only, owned(root));
        mount.ready = report_ready;
        status = show(settings, mount);
    }
    dfs_disconnect(fs);
    dfs_fini();
    return status;
}

int start(const Settings& settings)
{
    int ends[2];
    if (pipe(ends) != 0) return fail(std::string("pipe: ") + strerror(errno));
    const pid_t child = fork();
    if (child < 0) return fail(std::string("fork: ") + strerror(errno));
    if (child == 0) {
        close(ends[0]);
        ready_pipe = ends[1];
        setsid();
        if (chdir("/") != 0) return fail(std::string("/: ") + strerror(errno));
        return serve(settings);
    }
    close(ends[1]);
    char byte = 0;
    ssize_t got = 0;
    do
        got = read(ends[0], &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got == 1) return 0;
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status))
        return fail("the process was ended by signal " + std::to_string(WTERMSIG(status)));
    return WEXITSTATUS(status);
}

bool understood(int argc, char** argv, Settings& settings)
{
    const option options[] = {{"read-only", no_argument, nullptr, 'r'},
                              {"foreground", no_argument, nullptr, 'f'},
                              {"allow-other", no_argument, nullptr, 'a'},
                              {"snapshot", required_argument, nullptr, 's'},
                              {}};
    for (int found = 0; (found = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
        switch (found) {
        case 'r': settings.read_only = true; break;
        case 'f': settings.foreground = true; break;
        case 'a': settings.allow_other = true; break;
        case 's':
            settings.snapshot = optarg;
            settings.read_only = true;
            break;
        default: return false;
        }
    }
    if (argc - optind != 3) return false;
    settings.pool = argv[optind];
    settings.container = argv[optind + 1];
    settings.directory = argv[optind + 2];
    return true;
}

} // namespace
} // namespace stepstore::mounting

int main(int argc, char** argv)
{
    stepstore::mounting::Settings settings;
    if (!stepstore::mounting::understood(argc, argv, settings)) {
        std::fprintf(stderr, "usage: stepstore-mount [--read-only] [--foreground] [--allow-other] "
                             "[--snapshot NAME|EPOCH] POOL CONTAINER DIRECTORY\n");
        return 2;
    }
    return settings.foreground ? stepstore::mounting::serve(settings) : stepstore::mounting::start(settings);
}

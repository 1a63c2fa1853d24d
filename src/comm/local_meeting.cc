// A meeting of the ranks of one machine over a local (abstract UNIX) socket, whose name is the job's own.
// Rank 0 listens while it is in a meeting. The others try to connect until they get through or their time is
// up.
//
// 1. Hello: the rank says what it opens.
// 2. Ready?: rank 0 asks everybody once all have come. They answer Ready, and then wait for the verdict
//    without a time-out of their own (a broken connection is a failure).
// 3. Go, with the verdict, once all have answered; otherwise Failed.
//
// A rank that gives up closes its connection. Rank 0 sees that, so the rank can be in no meeting that
// succeeds. Nothing stays behind: the name lives as long as the socket.
#include "comm/meeting.h"

#include "base/checksum.h"
#include "comm/waiting.h"
#include "daos_errno.h"
#include "stepstore/error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace stepstore {
namespace {

enum class Kind : std::uint32_t { hello = 1, ready_question, ready, go, failed };

struct Message {
    Kind kind{};
    std::uint32_t rank = 0;
    std::uint64_t size = 0;
    std::uint64_t key_hash = 0;
    std::uint64_t arrived = 0;
    std::uint64_t color = 0;
    std::uint64_t all_the_same = 0;
};

class Socket {
public:
    explicit Socket(int fd = -1) : fd_(fd) {}
    Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    Socket& operator=(Socket&& other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Socket() { close(); }
    void close()
    {
        if (fd_ >= 0) ::close(fd_);
        fd_ = -1;
    }
    int fd() const { return fd_; }
    bool open() const { return fd_ >= 0; }

    bool send(const Message& message) const
    {
        return ::send(fd_, &message, sizeof message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
    }
    enum class Received { message, nothing, closed };
    Received receive(Message& message) const
    {
        auto got = ::recv(fd_, &message, sizeof message, MSG_DONTWAIT);
        if (got == static_cast<ssize_t>(sizeof message)) return Received::message;
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Received::nothing;
        return Received::closed;
    }

private:
    int fd_;
};

[[noreturn]] void fail(const std::string& what)
{
    throw Error(-DER_MISC, "the ranks of this machine cannot meet: " + what + ": " + std::strerror(errno));
}

Socket new_socket()
{
    Socket socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.open()) fail("socket");
    return socket;
}

struct Address {
    sockaddr_un name{};
    socklen_t length = 0;
};

Address address_of(const std::string& text)
{
    Address address;
    address.name.sun_family = AF_UNIX;
    // A leading zero byte: not in the file system.
    std::memcpy(address.name.sun_path + 1, text.data(),
                std::min(text.size(), sizeof address.name.sun_path - 1));
    address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    return address;
}

bool of_this_user(const Socket& peer)
{
    ucred credentials{};
    socklen_t length = sizeof credentials;
    return getsockopt(peer.fd(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
           credentials.uid == geteuid();
}

class LocalMeeting final : public Meeting {
public:
    LocalMeeting(int rank, int size, const std::string& name)
        : rank_(static_cast<std::uint32_t>(rank)), size_(static_cast<std::uint32_t>(size)),
          address_(address_of(name))
    {
    }
    Verdict meet(std::uint64_t key_hash, double timeout_seconds) override
    {
        Deadline deadline(timeout_seconds);
        return rank_ == 0 ? lead(key_hash, deadline) : follow(key_hash, deadline);
    }
    bool repeatable() const override { return true; }

private:
    struct Peer {
        Socket socket;
        std::uint64_t key_hash = 0;
        bool arrived = false;
        bool ready = false;
    };

    Verdict follow(std::uint64_t key_hash, const Deadline& deadline) const;
    bool connect_to_leader(Socket& socket, std::uint64_t key_hash) const;
    Verdict lead(std::uint64_t key_hash, const Deadline& deadline) const;
    Socket listen(const Deadline& deadline) const;
    void take_in(const Socket& listener, std::vector<Socket>& strangers) const;
    void greet(std::vector<Socket>& strangers, std::vector<Peer>& peers) const;
    static void hear(std::vector<Peer>& peers);
    static void wait_for_news(const Socket& listener, const std::vector<Socket>& strangers,
                              const std::vector<Peer>& peers, const Deadline& deadline);

    std::uint32_t rank_;
    std::uint32_t size_;
    Address address_;
};

bool LocalMeeting::connect_to_leader(Socket& socket, std::uint64_t key_hash) const
{
    socket = new_socket();
    if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address_.name), address_.length) != 0) {
        socket.close(); // nobody listens yet, or its queue is full
        return false;
    }
    Message hello;
    hello.kind = Kind::hello;
    hello.rank = rank_;
    hello.size = size_;
    hello.key_hash = key_hash;
    if (socket.send(hello)) return true;
    socket.close();
    return false;
}

Verdict LocalMeeting::follow(std::uint64_t key_hash, const Deadline& deadline) const
{
    Socket leader;
    bool ready = false;
    Verdict verdict;
    auto step = [&]() -> bool {
        if (!leader.open() && !connect_to_leader(leader, key_hash)) return false;
        pollfd wanted = {leader.fd(), POLLIN, 0};
        ::poll(&wanted, 1, ready ? 1000 : deadline.milliseconds(50));
        Message message;
        switch (leader.receive(message)) {
        case Socket::Received::nothing: return false;
        case Socket::Received::closed:
            // Before Ready this was the end of another meeting; after it, of this one.
            leader.close();
            return ready;
        case Socket::Received::message: break;
        }
        if (message.kind == Kind::ready_question) {
            Message answer;
            answer.kind = Kind::ready;
            ready = leader.send(answer);
            if (!ready) leader.close();
            return false;
        }
        verdict.arrived = message.arrived;
        if (message.kind == Kind::go) {
            verdict.color = message.color;
            verdict.all_the_same = message.all_the_same != 0;
        } else if (verdict.arrived == size_) {
            verdict.arrived = 0; // all had come, but one gave up before it was ready
        }
        return true;
    };
    // Rank 0 may be about to say how many have come; and who is ready waits for its word.
    bool patient = poll_until(deadline, step);
    if (!patient && leader.open()) patient = poll_until(Deadline(1.0), step);
    while (!patient && ready)
        patient = poll_until(Deadline(1.0), step);
    return verdict;
}

Socket LocalMeeting::listen(const Deadline& deadline) const
{
    auto socket = new_socket();
    // Two threads of rank 0 may meet at the same time: the second waits for the first.
    bool bound = poll_until(deadline, [&] {
        if (::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address_.name), address_.length) == 0)
            return true;
        if (errno != EADDRINUSE) fail("bind");
        return false;
    });
    if (!bound) fail("bind");
    if (::listen(socket.fd(), static_cast<int>(size_)) != 0) fail("listen");
    return socket;
}

void LocalMeeting::take_in(const Socket& listener, std::vector<Socket>& strangers) const
{
    while (true) {
        Socket one(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!one.open()) return;
        if (of_this_user(one)) strangers.push_back(std::move(one));
    }
}

// Strangers that said hello become peers.
void LocalMeeting::greet(std::vector<Socket>& strangers, std::vector<Peer>& peers) const
{
    for (auto at = strangers.begin(); at != strangers.end();) {
        Message hello;
        auto got = at->receive(hello);
        if (got == Socket::Received::nothing) {
            ++at;
            continue;
        }
        const bool good = got == Socket::Received::message && hello.kind == Kind::hello &&
                          hello.size == size_ && hello.rank > 0 && hello.rank < size_;
        if (good) {
            auto& peer = peers[hello.rank];
            peer.socket = std::move(*at);
            peer.key_hash = hello.key_hash;
            peer.arrived = true;
            peer.ready = false;
        }
        at = strangers.erase(at);
    }
}

void LocalMeeting::hear(std::vector<Peer>& peers)
{
    for (std::size_t rank = 1; rank < peers.size(); ++rank) {
        auto& peer = peers[rank];
        if (!peer.arrived) continue;
        Message message;
        auto got = peer.socket.receive(message);
        if (got == Socket::Received::message && message.kind == Kind::ready) peer.ready = true;
        if (got == Socket::Received::closed) {
            peer.socket.close();
            peer.arrived = false;
            peer.ready = false;
        }
    }
}

void LocalMeeting::wait_for_news(const Socket& listener, const std::vector<Socket>& strangers,
                                 const std::vector<Peer>& peers, const Deadline& deadline)
{
    std::vector<pollfd> wanted = {{listener.fd(), POLLIN, 0}};
    for (const auto& one : strangers)
        wanted.push_back({one.fd(), POLLIN, 0});
    for (const auto& peer : peers)
        if (peer.arrived && peer.socket.open()) wanted.push_back({peer.socket.fd(), POLLIN, 0});
    ::poll(wanted.data(), wanted.size(), deadline.milliseconds(1000));
}

Verdict LocalMeeting::lead(std::uint64_t key_hash, const Deadline& deadline) const
{
    auto listener = listen(deadline);
    std::vector<Socket> strangers;
    std::vector<Peer> peers(size_);
    peers[0].key_hash = key_hash;
    peers[0].arrived = peers[0].ready = true;
    auto count = [&](bool Peer::*what) {
        return static_cast<std::uint64_t>(
            std::count_if(peers.begin(), peers.end(), [&](const Peer& peer) { return peer.*what; }));
    };
    bool asked = false;
    while (count(&Peer::ready) != size_ && !deadline.passed()) {
        wait_for_news(listener, strangers, peers, deadline);
        take_in(listener, strangers);
        greet(strangers, peers);
        hear(peers);
        if (count(&Peer::arrived) != size_) {
            asked = false; // one that had come gave up
            continue;
        }
        if (asked) continue;
        asked = true;
        Message question;
        question.kind = Kind::ready_question;
        for (std::size_t rank = 1; rank < size_; ++rank)
            if (!peers[rank].ready) peers[rank].socket.send(question);
    }
    const bool success = count(&Peer::ready) == size_;
    const bool same =
        std::all_of(peers.begin(), peers.end(), [&](const Peer& peer) { return peer.key_hash == key_hash; });
    for (std::size_t rank = 1; rank < size_; ++rank) {
        if (!peers[rank].arrived) continue;
        Message verdict;
        verdict.kind = success ? Kind::go : Kind::failed;
        verdict.arrived = count(&Peer::arrived);
        while (peers[verdict.color].key_hash != peers[rank].key_hash)
            ++verdict.color;
        verdict.all_the_same = same ? 1 : 0;
        peers[rank].socket.send(verdict);
    }
    Verdict verdict;
    verdict.arrived = count(&Peer::arrived);
    if (!success && verdict.arrived == size_) verdict.arrived = 0;
    verdict.all_the_same = same;
    return verdict;
}

std::string environment(const char* name)
{
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

// How many of the job's ranks are on this machine, as its launcher says; 0 where it does not.
int local_ranks()
{
    for (const char* name :
         {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE"}) {
        auto value = environment(name);
        if (!value.empty()) return static_cast<int>(std::strtol(value.c_str(), nullptr, 10));
    }
    return 0;
}

// A text that the ranks of this job share, and no other job on this machine has. Empty: the launcher sets
// nothing of the kind.
std::string job_identity()
{
    std::string identity;
    for (const char* name : {"PMIX_NAMESPACE", "PMIX_SERVER_TMPDIR", "PMIX_SERVER_URI2", "PMIX_SERVER_URI21",
                             "PMIX_SERVER_URI3", "PMIX_SERVER_URI4", "PMIX_SERVER_URI41", "PMI_JOBID",
                             "SLURM_JOB_ID", "SLURM_STEP_ID", "PALS_APID"}) {
        auto value = environment(name);
        if (!value.empty()) identity += std::string(name) + '=' + value + '\n';
    }
    return identity;
}

} // namespace

std::unique_ptr<Meeting> make_local_meeting(int rank, int size)
{
    if (local_ranks() != size) return nullptr;
    auto identity = job_identity();
    if (identity.empty()) return nullptr;
    std::ostringstream name;
    name << "stepstore-meeting-" << geteuid() << '-' << std::hex << checksum(as_bytes(identity));
    return std::make_unique<LocalMeeting>(rank, size, name.str());
}

} // namespace stepstore

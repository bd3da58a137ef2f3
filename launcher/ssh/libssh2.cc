#include "launcher/ssh/libssh2.h"

#include "base/format.h"
#include "base/text.h"
#include "launcher/ssh/keys/wire.h"
#include "launcher/ssh/session_heap.h"

#include <libssh2.h>
#include <sys/types.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <set>

namespace dt {

namespace {

using Step = SshProtocol::Step;

/// Twice a session's window (2 MiB) in small packets, and room for the rest.
constexpr size_t heap_bytes_max = size_t{16} << 20;

// The algorithms that OpenSSH offers today, cheapest first. libssh2 knows weaker ones too: SHA-1 in
// key exchange and signatures, and CBC are left out.
constexpr std::string_view key_exchanges =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,"
    "ecdh-sha2-nistp521,diffie-hellman-group-exchange-sha256,diffie-hellman-group16-sha512,"
    "diffie-hellman-group18-sha512,diffie-hellman-group14-sha256";
constexpr std::string_view host_key_algorithms =
    "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,"
    "rsa-sha2-256";
constexpr std::string_view ciphers =
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,aes128-ctr,aes192-ctr,aes256-ctr,"
    "chacha20-poly1305@openssh.com";
constexpr std::string_view macs =
    "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512,"
    "hmac-sha1";

/// Returns all host key algorithms; those of the known types are in front.
std::string host_key_order(const std::vector<std::string>& known_types) {
  std::vector<std::string> order;
  const auto is_known = [&](std::string_view algorithm) {
    const std::string_view type = algorithm.starts_with("rsa-sha2-") ? "ssh-rsa" : algorithm;
    return std::find(known_types.begin(), known_types.end(), type) != known_types.end();
  };
  for (const bool known : {true, false}) {
    for (const std::string_view algorithm : split(host_key_algorithms, ',')) {
      if (is_known(algorithm) == known) order.emplace_back(algorithm);
    }
  }
  return join(order, ",");
}

Errc kind_of(int code) {
  switch (code) {
    case LIBSSH2_ERROR_AUTHENTICATION_FAILED:
    case LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED:
    case LIBSSH2_ERROR_CHANNEL_FAILURE:
    case LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED:
      return Errc::refused;
    case LIBSSH2_ERROR_SOCKET_DISCONNECT:
    case LIBSSH2_ERROR_SOCKET_RECV:
    case LIBSSH2_ERROR_SOCKET_SEND:
    case LIBSSH2_ERROR_TIMEOUT:  // libssh2's own 60 s, by the wall clock
      return Errc::closed;
    case LIBSSH2_ERROR_KEX_FAILURE:
    case LIBSSH2_ERROR_FILE:
    case LIBSSH2_ERROR_KEYFILE_AUTH_FAILED:
    case LIBSSH2_ERROR_METHOD_NONE:
    case LIBSSH2_ERROR_METHOD_NOT_SUPPORTED:
      return Errc::unsupported;
    default:
      return Errc::protocol;
  }
}

/// Returns the signature flags (RFC 8332) for the algorithm that the data to sign names.
uint32_t signature_flags(ByteSpan data) {
  SshReader reader(data);
  reader.string();  // session
  reader.byte();
  for (int field = 0; field < 3; ++field)
    reader.string();  // user, service, "publickey"
  reader.byte();
  const std::string_view algorithm = as_text(reader.string());
  return algorithm == "rsa-sha2-256" ? 2 : algorithm == "rsa-sha2-512" ? 4 : 0;
}

/// SshProtocol by one libssh2 session.
class Libssh2Protocol final : public SshProtocol {
 public:
  explicit Libssh2Protocol(Options options)
      : options_(std::move(options)),
        session_(libssh2_session_init_ex(&on_allocate, &on_free, &on_reallocate, this)) {}
  ~Libssh2Protocol() override;
  Result<> set_up();

  void receive(ByteSpan bytes) override;
  Result<Step> handshake() override;
  bool banner_received() const override;
  ByteSpan host_key() const override;
  Result<Step> log_in_with_secret(const std::string& user, const std::string& secret) override;
  Result<Step> log_in_with_signer(const std::string& user, ByteSpan key,
                                  const Signer& signer) override;
  Result<Step> log_in_with_nothing(const std::string& user) override;
  Result<Step> open_channel() override;
  Result<Step> execute(const std::string& command) override;
  Result<size_t> write(ByteSpan bytes) override;
  Result<Step> end_input() override;
  Result<size_t> read(Output output, std::span<std::byte> into) override;
  Result<std::optional<SshExit>> closed() override;
  void disconnect() override;

 private:
  static void* on_allocate(size_t size, void** abstract) {
    return heap_of(abstract).allocate(size);
  }
  static void* on_reallocate(void* block, size_t size, void** abstract) {
    return heap_of(abstract).resize(block, size);
  }
  static void on_free(void* block, void** abstract) { heap_of(abstract).release(block); }
  static SessionHeap& heap_of(void** abstract) {
    return static_cast<Libssh2Protocol*>(*abstract)->heap_;
  }
  static ssize_t on_send(int, const void* bytes, size_t size, int, void** abstract);
  static ssize_t on_receive(int, void* into, size_t size, int, void** abstract);
  static void on_disconnect(LIBSSH2_SESSION*, int, const char* message, int size, const char*, int,
                            void** abstract);
  /// Offers these methods in this order, and no other.
  Result<> prefer(int method, std::string_view order) const;
  tl::unexpected<Error> failure(ssize_t code) const;
  Result<Step> step(int code) const;
  /// Called when libssh2 returned a null pointer: returns `waiting`, or its error.
  Result<Step> nothing_yet() const;
  Result<size_t> amount(ssize_t code) const;

  Options options_;
  SessionHeap heap_{heap_bytes_max};
  LIBSSH2_SESSION* session_;
  LIBSSH2_CHANNEL* channel_ = nullptr;
  Bytes received_;
  size_t taken_ = 0;            ///< bytes at the front of received_ that libssh2 has read
  bool mid_handshake_ = false;  ///< a handshake has begun and not ended
  bool severed_ = false;        ///< from now on libssh2 sees an end of file and sends nothing
  std::optional<std::string> disconnect_message_;  ///< the server's, once it disconnects
};

ssize_t Libssh2Protocol::on_send(int, const void* bytes, size_t size, int, void** abstract) {
  const auto& self = *static_cast<Libssh2Protocol*>(*abstract);
  if (!self.severed_) self.options_.send({static_cast<const std::byte*>(bytes), size});
  return static_cast<ssize_t>(size);
}

ssize_t Libssh2Protocol::on_receive(int, void* into, size_t size, int, void** abstract) {
  auto& self = *static_cast<Libssh2Protocol*>(*abstract);
  const size_t n = std::min(size, self.received_.size() - self.taken_);
  if (n == 0) return self.severed_ ? 0 : -EAGAIN;
  std::memcpy(into, self.received_.data() + self.taken_, n);
  self.taken_ += n;
  return static_cast<ssize_t>(n);
}

// NOLINTNEXTLINE(readability-function-size): libssh2 wants these parameters
void Libssh2Protocol::on_disconnect(LIBSSH2_SESSION*, int, const char* message, int size,
                                    const char*, int, void** abstract) {
  auto& text = static_cast<Libssh2Protocol*>(*abstract)->disconnect_message_;
  text = message == nullptr || size <= 0 ? "" : printable({message, static_cast<size_t>(size)});
}

tl::unexpected<Error> Libssh2Protocol::failure(ssize_t code) const {
  if (disconnect_message_) {
    return fail(Errc::closed, disconnect_message_->empty()
                                  ? "the server closed the connection"
                                  : format("the server closed the connection with the message '{}'",
                                           *disconnect_message_));
  }
  char* text = nullptr;
  libssh2_session_last_error(session_, &text, nullptr, 0);
  return fail(kind_of(static_cast<int>(code)),
              format("{} (libssh2 error {})", printable(text == nullptr ? "" : text), code));
}

Result<Step> Libssh2Protocol::step(int code) const {
  if (code == LIBSSH2_ERROR_EAGAIN) return Step::waiting;
  if (code < 0) return failure(code);
  return Step::done;
}

Result<Step> Libssh2Protocol::nothing_yet() const {
  const int code = libssh2_session_last_errno(session_);
  if (code == 0) return fail(Errc::protocol, "libssh2 reports neither success nor an error");
  return step(code);
}

Result<size_t> Libssh2Protocol::amount(ssize_t code) const {
  if (code == LIBSSH2_ERROR_EAGAIN) return size_t{0};
  if (code < 0) return failure(code);
  return static_cast<size_t>(code);
}

Result<> Libssh2Protocol::set_up() {
  if (session_ == nullptr) return fail(Errc::os, "libssh2: out of memory");
  libssh2_session_set_blocking(session_, 0);
  const auto call = [&](int when, auto* function) {
    libssh2_session_callback_set(session_, when, reinterpret_cast<void*>(function));
  };
  call(LIBSSH2_CALLBACK_SEND, &on_send);
  call(LIBSSH2_CALLBACK_RECV, &on_receive);
  call(LIBSSH2_CALLBACK_DISCONNECT, &on_disconnect);
  const std::pair<int, std::string> preferences[] = {
      {LIBSSH2_METHOD_KEX, std::string(key_exchanges)},
      {LIBSSH2_METHOD_HOSTKEY, host_key_order(options_.host_key_types)},
      {LIBSSH2_METHOD_CRYPT_CS, std::string(ciphers)},
      {LIBSSH2_METHOD_CRYPT_SC, std::string(ciphers)},
      {LIBSSH2_METHOD_MAC_CS, std::string(macs)},
      {LIBSSH2_METHOD_MAC_SC, std::string(macs)}};
  for (const auto& [method, order] : preferences)
    TRY(prefer(method, order));
  return {};
}

Result<> Libssh2Protocol::prefer(int method, std::string_view order) const {
  const char** names = nullptr;
  const int count = libssh2_session_supported_algs(session_, method, &names);
  if (count < 0) return failure(count);
  const std::set<std::string_view> known(names, names + count);
  // libssh2 1.10 removes unknown names from its list by a memcpy of overlapping memory. So this
  // list holds known names only.
  std::vector<std::string> wanted;
  for (const std::string_view name : split(order, ',')) {
    if (known.contains(name)) wanted.emplace_back(name);
  }
  const int code = libssh2_session_method_pref(session_, method, join(wanted, ",").c_str());
  libssh2_free(session_, reinterpret_cast<void*>(names));
  if (code < 0) return failure(code);
  return {};
}

Libssh2Protocol::~Libssh2Protocol() {
  if (session_ == nullptr) return;
  // libssh2 would wait for the server to close the channel, but not after an end of file. An
  // unfinished handshake releases OpenSSL's objects only when it fails.
  severed_ = true;
  received_.clear();
  taken_ = 0;
  if (mid_handshake_) libssh2_session_handshake(session_, options_.socket);
  [[maybe_unused]] const int code = libssh2_session_free(session_);
  assert(code != LIBSSH2_ERROR_EAGAIN);
}

void Libssh2Protocol::receive(ByteSpan bytes) {
  received_.erase(received_.begin(), received_.begin() + static_cast<ptrdiff_t>(taken_));
  taken_ = 0;
  received_.insert(received_.end(), bytes.begin(), bytes.end());
}

Result<Step> Libssh2Protocol::handshake() {
  const int code = libssh2_session_handshake(session_, options_.socket);
  mid_handshake_ = code == LIBSSH2_ERROR_EAGAIN;
  return step(code);
}

bool Libssh2Protocol::banner_received() const {
  const char* banner = libssh2_session_banner_get(session_);
  return banner != nullptr && std::string_view(banner).starts_with("SSH-");
}

ByteSpan Libssh2Protocol::host_key() const {
  size_t size = 0;
  int type = 0;
  const char* key = libssh2_session_hostkey(session_, &size, &type);
  if (key == nullptr) return {};
  return as_bytes({key, size});
}

Result<Step> Libssh2Protocol::log_in_with_secret(const std::string& user,
                                                 const std::string& secret) {
  return step(libssh2_userauth_publickey_frommemory(session_, user.data(), user.size(), nullptr, 0,
                                                    secret.data(), secret.size(), nullptr));
}

Result<Step> Libssh2Protocol::log_in_with_signer(const std::string& user, ByteSpan key,
                                                 const Signer& signer) {
  struct Call {
    const Signer* signer;
    SessionHeap* heap;
  };
  const auto sign = [](LIBSSH2_SESSION*, unsigned char** signature, size_t* size,
                       const unsigned char* data, size_t data_size, void** abstract) {
    const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), data_size);
    const Call& call = *static_cast<const Call*>(*abstract);
    const auto made = (*call.signer)(bytes, signature_flags(bytes));
    if (!made) return -1;
    if (!*made) return LIBSSH2_ERROR_EAGAIN;
    *size = (*made)->size();
    // libssh2 releases it.
    *signature = static_cast<unsigned char*>(call.heap->allocate(*size));
    if (*signature == nullptr) return -1;
    std::memcpy(*signature, (*made)->data(), *size);
    return 0;
  };
  Call call = {.signer = &signer, .heap = &heap_};
  void* abstract = &call;
  return step(libssh2_userauth_publickey(session_, user.c_str(),
                                         reinterpret_cast<const unsigned char*>(key.data()),
                                         key.size(), sign, &abstract));
}

Result<Step> Libssh2Protocol::log_in_with_nothing(const std::string& user) {
  const char* methods =
      libssh2_userauth_list(session_, user.data(), static_cast<unsigned int>(user.size()));
  if (methods != nullptr) return fail(Errc::refused, printable(methods));
  if (libssh2_userauth_authenticated(session_) == 1) return Step::done;
  return nothing_yet();
}

Result<Step> Libssh2Protocol::open_channel() {
  channel_ = libssh2_channel_open_session(session_);
  if (channel_ != nullptr) return Step::done;
  return nothing_yet();
}

Result<Step> Libssh2Protocol::execute(const std::string& command) {
  return step(libssh2_channel_process_startup(channel_, "exec", 4, command.data(),
                                              static_cast<unsigned int>(command.size())));
}

Result<size_t> Libssh2Protocol::write(ByteSpan bytes) {
  return amount(libssh2_channel_write_ex(channel_, 0, reinterpret_cast<const char*>(bytes.data()),
                                         bytes.size()));
}

Result<Step> Libssh2Protocol::end_input() {
  return step(libssh2_channel_send_eof(channel_));
}

Result<size_t> Libssh2Protocol::read(Output output, std::span<std::byte> into) {
  const int stream = output == Output::error ? SSH_EXTENDED_DATA_STDERR : 0;
  return amount(
      libssh2_channel_read_ex(channel_, stream, reinterpret_cast<char*>(into.data()), into.size()));
}

Result<std::optional<SshExit>> Libssh2Protocol::closed() {
  if (libssh2_channel_eof(channel_) != 1) return std::nullopt;
  const int code = libssh2_channel_wait_closed(channel_);
  if (code == LIBSSH2_ERROR_EAGAIN) return std::nullopt;
  if (code < 0) return failure(code);
  SshExit exit;
  char* signal = nullptr;
  size_t size = 0;
  libssh2_channel_get_exit_signal(channel_, &signal, &size, nullptr, nullptr, nullptr, nullptr);
  if (signal != nullptr) {
    exit.signal = printable({signal, size});
    libssh2_free(session_, signal);
  } else {
    exit.status = libssh2_channel_get_exit_status(channel_);
  }
  return exit;
}

void Libssh2Protocol::disconnect() {
  constexpr const char* word = "done";
  libssh2_session_disconnect(session_, word);
}

}  // namespace

SshLibrary ssh_library() {
  return {.present = true,
          .rsa_sha2 = libssh2_version(0x010b00) != nullptr,
          .text = format("libssh2 {}", libssh2_version(0))};
}

Result<std::unique_ptr<SshProtocol>> open_ssh_protocol(SshProtocol::Options options) {
  // Runs once, before the first session: a job without remote hosts does not pay for it.
  static const int ready = libssh2_init(0);
  if (ready != 0) return fail(Errc::unsupported, "libssh2 cannot be initialised");
  auto protocol = std::make_unique<Libssh2Protocol>(std::move(options));
  TRY(protocol->set_up());
  return protocol;
}

}  // namespace dt

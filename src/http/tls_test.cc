#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>
#include <cstdio>

#include "base/hash.h"
#include "http/client.h"
#include "http/server.h"
#include "http/test_service.h"

namespace ferry::http {
namespace {

using namespace std::chrono_literals;

// A certificate that signs itself, for the given alternative names, in two files that go with it.
class SelfSigned {
 public:
  explicit SelfSigned(const std::string& names) {
    const std::string base = StrCat(testing::TempDir(), "/ferry_tls_", RandomHex(8));
    files_ = {base + ".crt", base + ".key"};
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* cert = X509_new();
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME* name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("ferry test"), -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
    X509_sign(cert, key, EVP_sha256());
    BIO* out = BIO_new_file(files_.certificate.c_str(), "w");
    PEM_write_bio_X509(out, cert);
    BIO_free(out);
    out = BIO_new_file(files_.key.c_str(), "w");
    PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    BIO_free(out);
    X509_free(cert);
    EVP_PKEY_free(key);
  }
  ~SelfSigned() {
    std::remove(files_.certificate.c_str());
    std::remove(files_.key.c_str());
  }
  const TlsFiles& files() const { return files_; }

 private:
  TlsFiles files_;
};

ClientSettings Trusting(const Server& server, const SelfSigned& cert) {
  ClientSettings settings;
  settings.base = StrCat("https://127.0.0.1:", server.port());
  settings.ca_file = cert.files().certificate;
  return settings;
}

TEST(Tls, RoundTrips) {
  SelfSigned cert("IP:127.0.0.1,DNS:localhost");
  TestService service;
  service.admit = [](const Head&) -> TestService::Admitted { return Buffered{.limit = 100u << 20}; };
  Settings settings;
  settings.tls = cert.files();
  auto server = StartServer(service, settings);
  Client client(Trusting(*server, cert));
  for (int i = 0; i < 20; ++i) {
    auto reply = client.Do(MakeCall("POST", StrCat("/", i), "body"));
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    EXPECT_EQ(reply->body, StrCat("/", i, "|body"));
  }
  std::string large(5'000'000, 'x');
  auto reply = client.Do(MakeCall("POST", "/", large));
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_TRUE(reply->body == "/|" + large);
  EXPECT_EQ(server->connections(), 1u);
  ClientSettings by_name = Trusting(*server, cert);
  by_name.base = StrCat("https://localhost:", server->port());
  EXPECT_TRUE(Client(by_name).Do(MakeCall("GET", "/")).ok());
}

TEST(Tls, RefusesWhatItCannotTrust) {
  SelfSigned cert("IP:127.0.0.1");
  SelfSigned other("IP:127.0.0.1");
  TestService service;
  Settings settings;
  settings.tls = cert.files();
  auto server = StartServer(service, settings);
  ClientSettings stranger = Trusting(*server, other);
  auto reply = Client(stranger).Do(MakeCall("GET", "/"));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().slug, "http.unreachable");
  EXPECT_NE(reply.error().message.find("certificate"), std::string::npos) << reply.error().message;
  ClientSettings wrong_name = Trusting(*server, cert);
  wrong_name.base = StrCat("https://localhost:", server->port());
  EXPECT_FALSE(Client(wrong_name).Do(MakeCall("GET", "/")).ok());
  stranger.ca_file = "no such file";
  EXPECT_EQ(Client(stranger).Do(MakeCall("GET", "/")).error().slug, "http.ca_file");
  // Plain bytes on a TLS port end that connection alone.
  auto plain = RawPeer::To(server->port());
  plain.Send("GET / HTTP/1.1\r\n\r\n");
  plain.ReadAll();
  EXPECT_TRUE(plain.ended());
  EXPECT_TRUE(Client(Trusting(*server, cert)).Do(MakeCall("GET", "/")).ok());
}

TEST(Tls, StreamsAndDetectsThatThePeerWent) {
  SelfSigned cert("IP:127.0.0.1");
  TestService service;
  std::atomic<bool> closed = false;
  std::shared_ptr<Stream> stream;
  std::atomic<bool> begun = false;
  service.handle = [&](Head, std::string, Responder responder) {
    stream = responder.Begin(200, {});
    stream->OnClosed([&] { closed = true; });
    for (int i = 0; i < 100; ++i) stream->Write(FormatEvent("n", std::to_string(i), std::string(1000, 'x')));
    begun = true;
  };
  Settings settings;
  settings.tls = cert.files();
  auto server = StartServer(service, settings);
  Client client(Trusting(*server, cert));
  int seen = 0;
  auto result = client.Events("/", "", [&](const Event& event) {
    EXPECT_EQ(event.id, std::to_string(seen));
    return ++seen < 100;
  });
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(seen, 100);
  EXPECT_TRUE(Eventually([&] { return closed.load(); }));
}

TEST(Tls, BadFilesAreToldAtStart) {
  TestService service;
  Settings settings;
  settings.tls = TlsFiles{"no such certificate", "no such key"};
  auto server = Server::Start(settings, service);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().slug, "http.tls_files");
  EXPECT_NE(server.error().message.find("no such certificate"), std::string::npos);
}

}  // namespace
}  // namespace ferry::http

#include "blob/pack.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace ferry::blob {
namespace {

std::string Noise(size_t size) {
  std::mt19937_64 random(size);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

TEST(Pack, CompressesOnlyWhatShrinks) {
  for (const std::string& raw : {std::string(), std::string("x"), std::string(63, 'x'), Noise(10'000)}) {
    std::string record;
    AppendRecord(record, HashBytes(raw), raw);
    EXPECT_EQ(record.size(), kRecordHead + raw.size());
    EXPECT_EQ(record.substr(kRecordHead), raw);
  }
  std::string record;
  AppendRecord(record, HashBytes(std::string(10'000, 'x')), std::string(10'000, 'x'));
  EXPECT_LT(record.size(), 200u);
  auto head = ReadRecordHead(record);
  EXPECT_EQ(head->raw, 10'000u);
  EXPECT_EQ(head->stored, record.size() - kRecordHead);
  std::string buffer;
  EXPECT_EQ(UnpackRecord(*head, std::string_view(record).substr(kRecordHead), buffer).value(), std::string(10'000, 'x'));
}

TEST(Pack, ParserDeliversRecordsAsTheyWere) {
  std::string pack(kPackMagic);
  std::map<Digest, std::string> records;
  for (size_t size : {0u, 1u, 100u, 5000u, 70'000u}) {
    for (const std::string& raw : {Noise(size), std::string(size, 'y')}) {
      std::string record;
      AppendRecord(record, HashBytes(raw), raw);
      records[HashBytes(raw)] = record;
      pack += record;
    }
  }
  for (size_t cut : {size_t{1}, size_t{7}, size_t{40}, size_t{4096}, pack.size()}) {
    std::map<Digest, std::string> seen;
    PackParser parser([&](const Digest& digest, std::string_view raw, std::string_view record) -> Result<void> {
      EXPECT_EQ(HashBytes(raw), digest);
      seen[digest] = record;
      return {};
    });
    for (size_t at = 0; at < pack.size(); at += cut) ASSERT_TRUE(parser.Write(std::string_view(pack).substr(at, cut)).ok());
    EXPECT_TRUE(parser.Finish().ok());
    EXPECT_EQ(seen, records);
  }
}

TEST(Pack, FailuresStay) {
  auto nothing = [](const Digest&, std::string_view, std::string_view) -> Result<void> { return {}; };
  PackParser empty(nothing);
  EXPECT_EQ(empty.Finish().error().slug, "blob.corrupt");
  PackParser foreign(nothing);
  EXPECT_FALSE(foreign.Write("FPK2").ok());
  EXPECT_FALSE(foreign.Write("FPK1").ok());
  EXPECT_FALSE(foreign.Finish().ok());
  std::string pack(kPackMagic);
  AppendRecord(pack, HashBytes("x"), "x");
  PackParser refused([](const Digest&, std::string_view, std::string_view) -> Result<void> { return MakeError(Code::kExhausted, "file.disk_full", "full"); });
  EXPECT_EQ(refused.Write(pack).error().code, Code::kExhausted);
  EXPECT_FALSE(refused.Finish().ok());
}

// Random changes of a pack never crash, and never deliver bytes that have not the hash they claim.
TEST(Pack, Mutations) {
  std::string good(kPackMagic);
  for (size_t size : {0u, 10u, 400u, 3000u})
    for (const std::string& raw : {Noise(size), std::string(size, 'z')}) AppendRecord(good, HashBytes(raw), raw);
  for (uint64_t seed = 1; seed <= 20'000; ++seed) {
    std::mt19937_64 random(seed);
    std::string bad = good;
    for (uint64_t n = random() % 3 + 1; n > 0 && !bad.empty(); --n) {
      const size_t at = random() % bad.size();
      switch (random() % 3) {
        case 0: bad[at] = static_cast<char>(random()); break;
        case 1: bad.erase(at, random() % 50); break;
        case 2: bad.insert(at, good.substr(random() % good.size(), random() % 50)); break;
      }
    }
    PackParser parser([](const Digest& digest, std::string_view raw, std::string_view) -> Result<void> {
      EXPECT_EQ(HashBytes(raw), digest);
      return {};
    });
    const size_t cut = random() % 1000 + 1;
    bool ok = true;
    for (size_t at = 0; ok && at < bad.size(); at += cut) ok = parser.Write(std::string_view(bad).substr(at, cut)).ok();
    EXPECT_EQ(parser.Finish().ok() && !ok, false);
  }
}

}  // namespace
}  // namespace ferry::blob

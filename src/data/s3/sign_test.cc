// The examples of "Authenticating Requests: Using the Authorization Header" in the Amazon S3 API reference.
#include "data/s3/sign.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "data/s3/answer.h"

namespace ferry::data {
namespace {

const S3Credentials kExample = {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1"};

std::string SignatureOf(S3Request request, const std::string& body = "") {
  Time time = *ParseTime("2013-05-24T00:00:00Z");
  request.payload_hash = HashBytes(body).Hex();
  request.headers["host"] = "examplebucket.s3.amazonaws.com";
  request.headers["x-amz-content-sha256"] = request.payload_hash;
  request.headers["x-amz-date"] = S3Date(time);
  std::string header = Sign(request, kExample, time);
  EXPECT_TRUE(header.starts_with("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders="));
  return header.substr(header.rfind('=') + 1);
}

TEST(Sign, PublishedExamples) {
  EXPECT_EQ(SignatureOf({"GET", "/test.txt", {}, {{"range", "bytes=0-9"}}, {}}), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(
      SignatureOf({"PUT", EncodePath("/test$file.text"), {}, {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}}, {}},
                  "Welcome to Amazon S3."),
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(SignatureOf({"GET", "/", {{"lifecycle", ""}}, {}, {}}), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(SignatureOf({"GET", "/", {{"max-keys", "2"}, {"prefix", "J"}}, {}, {}}), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(Sign, Encodings) {
  EXPECT_EQ(EncodePath("/bucket/a b/ü+$"), "/bucket/a%20b/%C3%BC%2B%24");
  EXPECT_EQ(EncodeQuery({{"b", "x/y"}, {"a", ""}}), "a=&b=x%2Fy");
  EXPECT_EQ(S3Date(*ParseTime("2026-11-15T10:41:07.999999Z")), "20261115T104107Z");
}

TEST(Answer, Pages) {
  auto page = ReadPage(
      R"(<?xml version="1.0"?><ListBucketResult xmlns="x"><Name>b</Name><IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken>
      <Contents><Key>a%2Fb+c%C3%BC</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified><Size>12</Size></Contents>
      <Contents><Key>z</Key><Size>0</Size></Contents></ListBucketResult>)");
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->objects.size(), 2u);
  EXPECT_EQ(page->objects[0].key, "a/b cü");
  EXPECT_EQ(page->objects[0].size, 12u);
  EXPECT_EQ(FormatTime(page->objects[0].modified), "2009-10-12T17:50:30.000000Z");
  EXPECT_EQ(page->next, "a&b");
  for (const char* bad :
       {"", "<html>", "<ListBucketResult><Contents><Key>a</Key>", "<ListBucketResult><Contents><Key>a</Key></Contents>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "<ListBucketResult><Contents><Key>%zz</Key><Size>1</Size></Contents>"})
    EXPECT_FALSE(ReadPage(bad).ok()) << bad;
  EXPECT_EQ(Element("<a>x &lt;&#39;&quot;&unknown;</a>", "a"), "x <'\"&unknown;");
  EXPECT_EQ(FormatTime(ReadHttpDate("Wed, 12 Oct 2009 17:50:00 GMT")), "2009-10-12T17:50:00.000000Z");
  EXPECT_FALSE(ReadHttpDate("yesterday"));
  EXPECT_FALSE(ReadHttpDate("Wed, 12 Oxt 2009 17:50:00 GMT"));
}

}  // namespace
}  // namespace ferry::data

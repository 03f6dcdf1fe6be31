package s3_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"bailing/shared/awslocal/s3"
)

// Over TLS the SDK sends an aws-chunked body with the checksum in its trailer.
func TestTheSDKsTrailingChecksumsAreDecodedAndVerified(t *testing.T) {
	t.Parallel()
	var chunked atomic.Bool
	e := start(t, s3.Options{}, func(h http.Handler) *httptest.Server {
		return httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Amz-Content-Sha256") == "STREAMING-UNSIGNED-PAYLOAD-TRAILER" {
				chunked.Store(true)
			}
			h.ServeHTTP(w, r)
		}))
	})
	for _, size := range []int{1, 100, 64 << 10, 1<<20 + 1} {
		body := strings.Repeat("abc", size)[:size]
		e.put("k", body)
		e.wantObject("k", body)
	}
	if !chunked.Load() {
		t.Fatal("the SDK did not send what this test is about")
	}
	// An unseekable stream can be sent in this way only.
	if _, err := e.c.PutObject(t.Context(), &client.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"),
		Body: io.MultiReader(strings.NewReader("stream")), ContentLength: aws.Int64(6), ContentEncoding: aws.String("identity")}); err != nil {
		t.Fatal(err)
	}
	e.wantObject("k", "stream")
	o, err := e.c.HeadObject(t.Context(), &client.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")})
	if err != nil || *o.ContentEncoding != "identity" {
		t.Errorf("content encoding %v, %v; want it without aws-chunked", o.ContentEncoding, err)
	}
}

func TestEveryChecksumAlgorithmOfTheSDK(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for _, a := range []types.ChecksumAlgorithm{types.ChecksumAlgorithmCrc32, types.ChecksumAlgorithmCrc32c, types.ChecksumAlgorithmCrc64nvme,
		types.ChecksumAlgorithmSha1, types.ChecksumAlgorithmSha256, types.ChecksumAlgorithmSha512} {
		if _, err := e.c.PutObject(t.Context(), &client.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"),
			Body: strings.NewReader(string(a)), ChecksumAlgorithm: a}); err != nil {
			t.Errorf("%s: %v", a, err)
			continue
		}
		e.wantObject("k", string(a)) // the SDK verifies what comes back
	}
}

// Each declaration is right for the body "hello", and each wrong one differs from it in what its name says.
func TestDeclaredDigestsAreVerified(t *testing.T) {
	t.Parallel()
	e := setup(t)
	sum := sha256.Sum256([]byte("hello"))
	right := hex.EncodeToString(sum[:])
	chunkedBody := "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
	trailer := func(length string) map[string]string {
		return map[string]string{"X-Amz-Content-Sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "X-Amz-Decoded-Content-Length": length,
			"X-Amz-Trailer": "x-amz-checksum-crc32"}
	}
	for _, tc := range []struct {
		rule   string
		header map[string]string
		body   string
		code   string
	}{
		{"MD5", map[string]string{"Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}, "hello", ""},
		{"wrong MD5", map[string]string{"Content-Md5": "XUFAKrxLKna5cZ2REBfFkg=="}, "hellO", "BadDigest"},
		{"malformed MD5", map[string]string{"Content-Md5": "x"}, "hello", "InvalidDigest"},
		{"SHA-256 of the payload", map[string]string{"X-Amz-Content-Sha256": right}, "hello", ""},
		{"wrong SHA-256 of the payload", map[string]string{"X-Amz-Content-Sha256": right}, "hellO", "XAmzContentSHA256Mismatch"},
		{"malformed SHA-256 of the payload", map[string]string{"X-Amz-Content-Sha256": "x"}, "hello", "InvalidArgument"},
		{"checksum", map[string]string{"X-Amz-Checksum-Crc32": "NhCmhg=="}, "hello", ""},
		{"wrong checksum", map[string]string{"X-Amz-Checksum-Crc32": "NhCmhg=="}, "hellO", "BadDigest"},
		{"malformed checksum", map[string]string{"X-Amz-Checksum-Crc32": "NhC"}, "hello", "InvalidRequest"},
		{"two checksums", map[string]string{"X-Amz-Checksum-Crc32": "NhCmhg==", "X-Amz-Checksum-Sha1": "x"}, "hello", "InvalidRequest"},
		{"trailer", trailer("5"), chunkedBody, ""},
		{"two chunks", trailer("5"), "2\r\nhe\r\n3\r\nllo\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n", ""},
		{"wrong trailer", trailer("5"), strings.Replace(chunkedBody, "hello", "hellO", 1), "BadDigest"},
		{"no trailer", trailer("5"), "5\r\nhello\r\n0\r\n\r\n", "MalformedTrailerError"},
		{"longer than declared", trailer("4"), chunkedBody, "IncompleteBody"},
		{"shorter than declared", trailer("6"), chunkedBody, "IncompleteBody"},
		{"declared length missing", trailer(""), chunkedBody, "InvalidArgument"},
		{"body that ends in a chunk", trailer("5"), chunkedBody[:6], "IncompleteBody"},
		{"body that ends before the last line", trailer("5"), strings.TrimSuffix(chunkedBody, "\r\n"), "IncompleteBody"},
		{"chunk size that is no number", trailer("5"), "z" + chunkedBody, "InvalidChunkSizeError"},
		{"chunk without its end", trailer("5"), "5\r\nhelloo\r\n0\r\n\r\n", "InvalidChunkSizeError"},
		{"line without CR", trailer("5"), strings.ReplaceAll(chunkedBody, "\r", ""), "InvalidChunkSizeError"},
		{"trailer without the payload", map[string]string{"X-Amz-Trailer": "x-amz-checksum-crc32"}, "hello", "InvalidRequest"},
	} {
		e.c.DeleteObject(t.Context(), &client.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")})
		status, answer := e.do("PUT", "/objects/k", tc.header, strings.NewReader(tc.body))
		t.Run(tc.rule, func(t *testing.T) {
			if tc.code == "" {
				if status != 200 {
					t.Errorf("%d %s", status, answer)
				}
				e.wantObject("k", "hello")
				return
			}
			if status != 400 || !strings.Contains(answer, "<Code>"+tc.code+"</Code>") {
				t.Errorf("%d %s, want %s", status, answer, tc.code)
			}
			if _, err := e.get("k"); err == nil {
				t.Error("what was refused was stored")
			}
		})
	}
}

func TestABodyThatBreaksOffIsNotStored(t *testing.T) {
	t.Parallel()
	e := setup(t)
	broken := errors.New("broken")
	r, err := http.NewRequestWithContext(t.Context(), "PUT", e.url+"/objects/k", io.MultiReader(strings.NewReader("half"), failing{broken}))
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 100
	if resp, err := http.DefaultClient.Do(r); err == nil {
		resp.Body.Close()
		t.Error("answered")
	}
	if _, err := e.get("k"); err == nil {
		t.Error("half an object was stored")
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

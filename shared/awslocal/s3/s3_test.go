package s3_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	client "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/s3"
	"bailing/shared/clock"
)

// env is a service behind a listener, with the ordinary client and one bucket.
type env struct {
	t       *testing.T
	c       *client.Client
	clock   *clock.Manual
	faults  *fault.Injector
	service *s3.Service
	url     string
}

const bucket = "objects"

func setup(t *testing.T) *env { return start(t, s3.Options{}, httptest.NewServer) }

func start(t *testing.T, o s3.Options, listen func(http.Handler) *httptest.Server, replay ...[]byte) *env {
	t.Helper()
	e := &env{t: t, clock: clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC)), faults: &fault.Injector{}}
	o.Clock, o.Faults = e.clock, e.faults
	var err error
	if e.service, err = s3.New(o); err != nil {
		t.Fatal(err)
	}
	for _, rec := range replay {
		if err := e.service.Replay(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.service.Ready(); err != nil {
		t.Fatal(err)
	}
	srv := listen(e.service)
	t.Cleanup(srv.Close)
	e.url = srv.URL
	e.c = client.NewFromConfig(aws.Config{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDTEST", "secret", ""),
		BaseEndpoint: aws.String(srv.URL),
		HTTPClient:   srv.Client(),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
		// What config.LoadDefaultConfig sets.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenSupported,
	}, func(o *client.Options) { o.UsePathStyle = true })
	if _, err := e.c.CreateBucket(t.Context(), &client.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *env) put(key, body string) {
	e.t.Helper()
	if _, err := e.c.PutObject(e.t.Context(), &client.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader(body)}); err != nil {
		e.t.Fatalf("put %q: %v", key, err)
	}
}

func (e *env) get(key string) (string, error) {
	o, err := e.c.GetObject(e.t.Context(), &client.GetObjectInput{Bucket: aws.String(bucket), Key: &key})
	if err != nil {
		return "", err
	}
	defer o.Body.Close()
	b, err := io.ReadAll(o.Body)
	return string(b), err
}

func (e *env) wantObject(key, want string) {
	e.t.Helper()
	if got, err := e.get(key); err != nil || got != want {
		e.t.Errorf("get %q: %.40q, %v; want %.40q", key, got, err, want)
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("error %v, want code %s", err, code)
	}
}

func TestPutGetHeadDelete(t *testing.T) {
	t.Parallel()
	e := setup(t)
	put, err := e.c.PutObject(t.Context(), &client.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"), Body: strings.NewReader("hello"),
		ContentType: aws.String("text/plain"), Metadata: map[string]string{"Owner": "a", "run": "7"}, CacheControl: aws.String("no-store")})
	if err != nil {
		t.Fatal(err)
	}
	const etag = `"5d41402abc4b2a76b9719d911017c592"`
	if *put.ETag != etag {
		t.Errorf("ETag %s, want %s", *put.ETag, etag)
	}
	get, err := e.c.GetObject(t.Context(), &client.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")})
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(get.Body)
	if err != nil || string(body) != "hello" {
		t.Errorf("body %q, %v", body, err)
	}
	if *get.ETag != etag || *get.ContentType != "text/plain" || *get.ContentLength != 5 || *get.CacheControl != "no-store" ||
		get.Metadata["owner"] != "a" || get.Metadata["run"] != "7" || !get.LastModified.Equal(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("answer %+v", get)
	}
	head, err := e.c.HeadObject(t.Context(), &client.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"), ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		t.Fatal(err)
	}
	if *head.ContentLength != 5 || *head.ETag != etag || head.Metadata["run"] != "7" || *head.ChecksumCRC32 != "NhCmhg==" {
		t.Errorf("answer %+v", head)
	}
	for range 2 { // the second time there is nothing to delete
		if _, err := e.c.DeleteObject(t.Context(), &client.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = e.get("k")
	var noKey *types.NoSuchKey
	if !errors.As(err, &noKey) {
		t.Errorf("get after delete: %v, want NoSuchKey", err)
	}
	_, err = e.c.HeadObject(t.Context(), &client.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")})
	wantCode(t, err, "NotFound")
}

func TestKeysAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	e := setup(t)
	keys := []string{"a/b/c", "a//b", "dir/", "../x", "./x", "with space", "plus+plus", "100%", "%2F", "ümlaut/日本", "q?x=1&y=2", "hash#tag", strings.Repeat("k", 1024)}
	for i, k := range keys {
		e.put(k, strings.Repeat("x", i+1))
	}
	for i, k := range keys {
		e.wantObject(k, strings.Repeat("x", i+1))
	}
	_, err := e.c.PutObject(t.Context(), &client.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(strings.Repeat("k", 1025)), Body: strings.NewReader("x")})
	wantCode(t, err, "KeyTooLongError")
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for name, ok := range map[string]bool{"abc": true, "ab": false, strings.Repeat("b", 63): true, strings.Repeat("b", 64): false,
		"with.dot-and-dash": true, "Upper": false, "-edge": false, "edge-": false, "a..b": false, "under_score": false} {
		_, err := e.c.CreateBucket(t.Context(), &client.CreateBucketInput{Bucket: &name})
		if ok && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !ok {
			t.Run(name, func(t *testing.T) { wantCode(t, err, "InvalidBucketName") })
		}
	}
	e.put("k", "kept")
	if _, err := e.c.CreateBucket(t.Context(), &client.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Errorf("a bucket that exists: %v", err)
	}
	e.wantObject("k", "kept")
	if _, err := e.c.HeadBucket(t.Context(), &client.HeadBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Error(err)
	}
	_, err := e.c.HeadBucket(t.Context(), &client.HeadBucketInput{Bucket: aws.String("none")})
	wantCode(t, err, "NotFound")
	_, err = e.c.PutObject(t.Context(), &client.PutObjectInput{Bucket: aws.String("none"), Key: aws.String("k"), Body: strings.NewReader("x")})
	wantCode(t, err, "NoSuchBucket")
	_, err = e.c.GetObject(t.Context(), &client.GetObjectInput{Bucket: aws.String("none"), Key: aws.String("k")})
	wantCode(t, err, "NoSuchBucket")
	_, err = e.c.DeleteObject(t.Context(), &client.DeleteObjectInput{Bucket: aws.String("none"), Key: aws.String("k")})
	wantCode(t, err, "NoSuchBucket")
}

func (e *env) putIfAbsent(key, body string) error {
	_, err := e.c.PutObject(e.t.Context(), &client.PutObjectInput{Bucket: aws.String(bucket), Key: &key, Body: strings.NewReader(body), IfNoneMatch: aws.String("*")})
	return err
}

func TestIfNoneMatchLetsExactlyOneWriterPass(t *testing.T) {
	t.Parallel()
	e := setup(t)
	bodies := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	errs := make([]error, len(bodies))
	var wg sync.WaitGroup
	for i, b := range bodies {
		wg.Go(func() { errs[i] = e.putIfAbsent("k", b) })
	}
	wg.Wait()
	winner := slices.Index(errs, nil)
	if winner < 0 {
		t.Fatal("nobody passed")
	}
	for i, err := range errs {
		if i != winner {
			wantCode(t, err, "PreconditionFailed")
		}
	}
	e.wantObject("k", bodies[winner])
}

func TestRanges(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.put("k", "0123456789")
	for _, tc := range []struct{ header, want, contentRange, code string }{
		{"bytes=0-3", "0123", "bytes 0-3/10", ""},
		{"bytes=9-", "9", "bytes 9-9/10", ""},
		{"bytes=5-100", "56789", "bytes 5-9/10", ""},
		{"bytes=-3", "789", "bytes 7-9/10", ""},
		{"bytes=-100", "0123456789", "bytes 0-9/10", ""},
		{"bytes=10-", "", "", "InvalidRange"},
		{"bytes=-0", "", "", "InvalidRange"},
		{"bytes=3-2", "", "", "InvalidRange"},
		{"bytes=x-2", "", "", "InvalidRange"},
		{"bytes=0-1,3-4", "", "", "NotImplemented"},
		{"lines=0-1", "", "", "NotImplemented"},
	} {
		o, err := e.c.GetObject(t.Context(), &client.GetObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"), Range: &tc.header})
		t.Run(tc.header, func(t *testing.T) {
			if tc.code != "" {
				wantCode(t, err, tc.code)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(o.Body)
			if err != nil || string(b) != tc.want || *o.ContentRange != tc.contentRange {
				t.Errorf("%q %s %v, want %q %s", b, *o.ContentRange, err, tc.want, tc.contentRange)
			}
		})
	}
}

// do sends a request that the SDK would not.
func (e *env) do(method, path string, header map[string]string, body io.Reader) (status int, answer string) {
	e.t.Helper()
	r, err := http.NewRequestWithContext(e.t.Context(), method, e.url+path, body)
	if err != nil {
		e.t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestWhatIsNotImplementedIsRefusedByName(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.put("k", "x")
	for _, tc := range []struct {
		method, path string
		header       map[string]string
		names        string
	}{
		{"GET", "/objects", nil, "GET of a bucket"},
		{"GET", "/objects?list-type=2", nil, "list-type"},
		{"DELETE", "/objects", nil, "DELETE of a bucket"},
		{"GET", "/", nil, "without a bucket"},
		{"GET", "/objects/k?acl", nil, "acl"},
		{"POST", "/objects/k?uploads", nil, "uploads"},
		{"POST", "/objects/k", nil, "POST"},
		{"GET", "/objects/k?versionId=1", nil, "versionId"},
		{"GET", "/objects/k?X-Amz-Signature=1", nil, "X-Amz-Signature"},
		{"GET", "/objects/k", map[string]string{"If-Match": `"x"`}, "if-match"},
		{"GET", "/objects/k", map[string]string{"If-None-Match": `"x"`}, "if-none-match"},
		{"PUT", "/objects/k", map[string]string{"If-Match": `"x"`}, "if-match"},
		{"PUT", "/objects/k", map[string]string{"If-None-Match": `"x"`}, "If-None-Match"},
		{"PUT", "/objects/k", map[string]string{"X-Amz-Copy-Source": "a/b"}, "x-amz-copy-source"},
		{"PUT", "/objects/k", map[string]string{"X-Amz-Server-Side-Encryption": "aws:kms"}, "x-amz-server-side-encryption"},
		{"PUT", "/objects/k", map[string]string{"X-Amz-Acl": "public-read"}, "x-amz-acl"},
		{"PUT", "/objects/k", map[string]string{"X-Amz-Checksum-Xxhash3": "x"}, "x-amz-checksum-xxhash3"},
		{"PUT", "/objects/k", map[string]string{"X-Amz-Content-Sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"}, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"},
	} {
		status, answer := e.do(tc.method, tc.path, tc.header, nil)
		if status != 501 || !strings.Contains(answer, "<Code>NotImplemented</Code>") || !strings.Contains(answer, tc.names) {
			t.Errorf("%s %s %v: %d %s, want 501 naming %s", tc.method, tc.path, tc.header, status, answer, tc.names)
		}
	}
	e.wantObject("k", "x")
}

func TestObjectSizeLimit(t *testing.T) {
	t.Parallel()
	e := setup(t)
	big := bytes.Repeat([]byte("x"), s3.MaxObject+1)
	if status, answer := e.do("PUT", "/objects/big", nil, bytes.NewReader(big[1:])); status != 200 {
		t.Errorf("at the limit: %d %s", status, answer)
	}
	if status, answer := e.do("PUT", "/objects/bigger", nil, bytes.NewReader(big)); status != 400 || !strings.Contains(answer, "EntityTooLarge") {
		t.Errorf("one past the limit: %d %s", status, answer)
	}
	if status, _ := e.do("GET", "/objects/bigger", nil, nil); status != 404 {
		t.Error("an object that was refused exists")
	}
	if status, answer := e.do("PUT", "/objects/k", nil, io.MultiReader(strings.NewReader("x"))); status != 411 {
		t.Errorf("without a length: %d %s", status, answer)
	}
}

func TestMetadataSizeLimit(t *testing.T) {
	t.Parallel()
	e := setup(t)
	put := func(n int) error {
		_, err := e.c.PutObject(t.Context(), &client.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"),
			Body: strings.NewReader("x"), Metadata: map[string]string{"k": strings.Repeat("v", n-1)}})
		return err
	}
	if err := put(2048); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	wantCode(t, put(2049), "MetadataTooLarge")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	e := setup(t)
	var last fault.Op
	put := func(kind fault.Kind) error {
		e.faults.Set(func(op fault.Op) fault.Fault {
			last = op
			return fault.Fault{Kind: kind}
		})
		defer e.faults.Set(nil)
		_, err := e.c.PutObject(context.Background(), &client.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("k"), Body: strings.NewReader("x")})
		return err
	}
	wantCode(t, put(fault.Throttle), "SlowDown")
	if want := (fault.Op{Service: "s3", Action: "PutObject", Resource: bucket, AccessKey: "AKIDTEST", Seq: 1}); last != want {
		t.Errorf("operation %+v, want %+v", last, want)
	}
	wantCode(t, put(fault.ErrorBefore), "InternalError")
	if put(fault.Drop) == nil {
		t.Error("an answer on a dropped connection")
	}
	if _, err := e.get("k"); err == nil {
		t.Error("a fault before the effect had one")
	}
	wantCode(t, put(fault.ErrorAfterCommit), "InternalError")
	e.wantObject("k", "x")
}

package s3_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/s3"

	"bailing/shared/awslocal/s3"
)

// journal is a journal in memory that can fail.
type journal struct {
	mu   sync.Mutex
	recs [][]byte
	fail error
}

func (j *journal) Append(rec []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return j.fail
	}
	j.recs = append(j.recs, slices.Clone(rec))
	return nil
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestObjectsSurvive(t *testing.T) {
	t.Parallel()
	for _, snapshot := range []bool{false, true} {
		t.Run(fmt.Sprintf("snapshot=%v", snapshot), func(t *testing.T) {
			t.Parallel()
			dir, j := t.TempDir(), &journal{}
			e := start(t, s3.Options{Dir: dir, Log: j}, httptest.NewServer)
			if _, err := e.c.PutObject(t.Context(), &client.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String("meta"),
				Body: nil, Metadata: map[string]string{"a": "b"}}); err != nil {
				t.Fatal(err)
			}
			e.put("kept", "kept")
			e.put("replaced", "old")
			e.put("replaced", "new")
			e.put("deleted", "x")
			if _, err := e.c.DeleteObject(t.Context(), &client.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String("deleted")}); err != nil {
				t.Fatal(err)
			}
			if got := len(files(t, dir)); got != 3 {
				t.Errorf("%d files for 3 objects", got)
			}
			// What a process that was killed may leave.
			for _, name := range []string{"99", "100.tmp"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			recs := j.recs
			if snapshot {
				recs = nil
				if err := e.service.Snapshot(func(rec []byte) error { recs = append(recs, slices.Clone(rec)); return nil }); err != nil {
					t.Fatal(err)
				}
			}
			n := start(t, s3.Options{Dir: dir, Log: &journal{}}, httptest.NewServer, recs...)
			n.wantObject("kept", "kept")
			n.wantObject("replaced", "new")
			n.wantObject("meta", "")
			if _, err := n.get("deleted"); err == nil {
				t.Error("a deleted object came back")
			}
			o, err := n.c.HeadObject(t.Context(), &client.HeadObjectInput{Bucket: aws.String(bucket), Key: aws.String("meta")})
			if err != nil || o.Metadata["a"] != "b" {
				t.Errorf("metadata %v, %v", o, err)
			}
			if got := len(files(t, dir)); got != 3 {
				t.Errorf("%d files for 3 objects after the restart", got)
			}
			n.put("after", "after") // under a number that is not in use
			n.wantObject("kept", "kept")
		})
	}
}

func TestMissingBytesAreReportedAtStart(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"file gone":      os.Remove,
		"file too short": func(path string) error { return os.Truncate(path, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, j := t.TempDir(), &journal{}
			start(t, s3.Options{Dir: dir, Log: j}, httptest.NewServer).put("k", "bytes")
			if err := damage(filepath.Join(dir, files(t, dir)[0])); err != nil {
				t.Fatal(err)
			}
			s, err := s3.New(s3.Options{Dir: dir, Log: j})
			if err != nil {
				t.Fatal(err)
			}
			for _, rec := range j.recs {
				if err := s.Replay(rec); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Ready(); err == nil {
				t.Error("started without the bytes of an object")
			}
		})
	}
}

func TestAJournalThatFailsRefusesAndKeepsTheState(t *testing.T) {
	t.Parallel()
	j := &journal{}
	e := start(t, s3.Options{Log: j}, httptest.NewServer)
	e.put("k", "before")
	j.fail = errors.New("disk full")
	wantCode(t, e.putIfAbsent("other", "x"), "InternalError")
	_, err := e.c.DeleteObject(t.Context(), &client.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String("k")})
	wantCode(t, err, "InternalError")
	e.wantObject("k", "before")
	_, err = e.get("other")
	wantCode(t, err, "NoSuchKey")
}

func TestRecordsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, rec := range []string{`{`, `{"kind":"song"}`, `{"kind":"put","bucket":"none","key":"k"}`} {
		s, err := s3.New(s3.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Replay([]byte(rec)); err == nil {
			t.Errorf("%s accepted", rec)
		}
	}
}

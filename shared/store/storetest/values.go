package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/model"
	"bailing/shared/store"
	"bailing/shared/toolcall"
)

var values = []promise{
	{"a value is found under the hash of its content, however often it is put", valueAgain},
	{"a value that was never put is missing", valueMissing},
	{"a value that is not what its address says is refused", valueDamaged},
	{"a value is in place before what refers to it", valueFirst},
	{"the largest submission is kept whole", largestSubmission},
	{"results of 5 MiB are kept whole", largeResult},
	{"results are kept whole at every size around the inline limit", resultSizes},
	{"large rounds and outcomes are kept whole", largeRounds},
	{"large audit details are kept whole", largeDetail},
}

func valueAgain(t *testing.T, b *bundle) {
	for _, content := range []string{"", b.now.String(), strings.Repeat("5 MiB", 1<<20)} {
		for range 2 {
			address, err := b.Store.PutValue(t.Context(), []byte(content))
			must(t, err)
			wantEqual(t, "address", address, store.Address([]byte(content)))
		}
		got, err := b.Store.GetValue(t.Context(), store.Address([]byte(content)))
		must(t, err)
		if string(got) != content {
			t.Fatalf("%d bytes came back for %d", len(got), len(content))
		}
	}
	// The address of the empty value, from FIPS 180-4.
	wantEqual(t, "address", store.Address(nil), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
}

func valueMissing(t *testing.T, b *bundle) {
	_, err := b.Store.GetValue(t.Context(), store.Address([]byte("never put "+b.draft().ID)))
	wantErr(t, err, store.ErrValueMissing)
}

func valueDamaged(t *testing.T, b *bundle) {
	address, err := b.Store.PutValue(t.Context(), []byte(b.draft().ID))
	must(t, err)
	_, err = b.S3.PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: aws.String(b.Bucket), Key: aws.String("v/" + address), Body: strings.NewReader("something else"),
	})
	must(t, err)
	if got, err := b.Store.GetValue(t.Context(), address); err == nil {
		t.Fatalf("%q came back without an error", got)
	} else if errors.Is(err, store.ErrValueMissing) {
		t.Fatal("a damaged value counts as missing")
	}
}

// A launch that is refused leaves its value, which is harmless; one that succeeded never refers to a missing one.
func valueFirst(t *testing.T, b *bundle) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	j := b.draft()
	j.Input = strings.Repeat("x", 100_000)
	if err := b.create(ctx, j, job.Thread{}); err == nil {
		t.Fatal("a launch passed whose value could not be put")
	}
	b.wantAbsent(t, j)
	wantEqual(t, "request entry", b.request(t, j.RequestID), nil)
}

func largestSubmission(t *testing.T, b *bundle) {
	j := b.draft()
	j.Input = strings.Repeat("\U0001F9FE", 100_000)
	j.Metadata = json.RawMessage(`{"note":"` + strings.Repeat("m", 900<<10) + `"}`)
	must(t, b.join(t.Context(), j))
	wantEqual(t, "job", b.read(t, j.ID), j)
	_, owned, err := b.Store.ReadOwned(t.Context(), "", j.ID)
	must(t, err)
	wantEqual(t, "owned job", owned, j)

	got, err := b.Store.ClaimJob(t.Context(), j.ID, "w", b.now, b.now.Add(lease))
	must(t, err)
	if got.Input != j.Input || !bytes.Equal(got.Metadata, j.Metadata) {
		t.Fatalf("claimed with %d bytes of input and %d of metadata", len(got.Input), len(got.Metadata))
	}
	// It stays what it was through every later step.
	f := job.Fence{JobID: j.ID, Claim: got.Claim}
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: b.now}, b.event("released")))
	b.finish(t, b.claim(t, j.ID))
	if b.read(t, j.ID).Input != j.Input {
		t.Fatal("the input changed")
	}
}

func largeResult(t *testing.T, b *bundle) {
	b.wantResult(t, 5<<20)
}

func resultSizes(t *testing.T, b *bundle) {
	const inline = 32 << 10
	for _, size := range []int{2, inline - 1, inline, inline + 1, 400 << 10} {
		b.wantResult(t, size)
	}
}

// wantResult finishes a job, behind which another one waits, with a result of exactly size bytes.
func (b *bundle) wantResult(t *testing.T, size int) {
	t.Helper()
	result := json.RawMessage(`"` + strings.Repeat("r", size-2) + `"`)
	j, f := b.running(t)
	b.launch(t, j.ThreadKey)
	_, err := b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Result: result, Now: b.now.Add(time.Second)}, b.event("finished"))
	must(t, err)
	if got := b.read(t, j.ID); !bytes.Equal(got.Result, result) || got.Input != j.Input {
		t.Fatalf("%d bytes came back for %d", len(got.Result), size)
	}
}

func largeRounds(t *testing.T, b *bundle) {
	j, f := b.running(t)
	args := `{"text":"` + strings.Repeat("a", 1<<20) + `"}`
	r := jobrun.Round{Number: 1, Message: model.Message{
		Role: model.RoleAssistant, Content: strings.Repeat("c", 600<<10),
		ToolCalls: []model.ToolCall{{ID: "1", Name: "t", Arguments: args}, {ID: "2", Name: "t", Arguments: args}},
	}}
	must(t, b.Store.SaveRound(t.Context(), f, r, b.event("round")))
	r.Calls = map[int]toolcall.Record{}
	for i := range 2 {
		rec := toolcall.Record{Round: 1, Index: i, Outcome: toolcall.Outcome{Text: strings.Repeat("o", 1<<20)}}
		must(t, b.Store.CompleteCall(t.Context(), f, rec, b.event("call")))
		r.Calls[i] = rec
	}
	got, err := b.Store.LoadRounds(t.Context(), j.ID)
	must(t, err)
	wantEqual(t, "rounds", got, []jobrun.Round{r})
}

func largeDetail(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	texts := map[string]string{}
	for i, size := range []int{30 << 10, 40 << 10, 65_536} { // inline, a value, and the most that an audit keeps
		ev := b.event(string(rune('a' + i)))
		ev.At = b.now.Add(time.Second)
		texts[ev.ID] = strings.Repeat("\u20ac", size)
		ev.Detail["args"] = texts[ev.ID]
		must(t, b.Store.AddEvent(t.Context(), j.ID, ev))
	}
	docs, err := b.Store.JobAudit(t.Context(), j.ID)
	must(t, err)
	wantEqual(t, "records", len(docs), 1+len(texts))
	for _, doc := range docs[1:] {
		var r struct {
			Detail struct{ ID, Args string } `json:"detail"`
		}
		must(t, json.Unmarshal(doc, &r))
		if r.Detail.Args != texts[r.Detail.ID] {
			t.Errorf("%s: %d bytes came back for %d", r.Detail.ID, len(r.Detail.Args), len(texts[r.Detail.ID]))
		}
	}
}

package queue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"bailing/shared/job"
	"bailing/shared/queue"
)

func TestACallbackMessageCarriesOnlyTheKey(t *testing.T) {
	t.Parallel()
	k := job.OutboxKey{JobID: id, Terminal: 2, Target: job.ToDelivery}
	for delay, want := range map[time.Duration]int32{0: 0, time.Millisecond: 1, 24 * time.Hour: 900} {
		c := &client{}
		if err := (&queue.Callbacks{Client: c, URL: "https://queue"}).Notify(t.Context(), k, delay); err != nil {
			t.Fatal(err)
		}
		in := c.sent[0]
		if got := aws.ToString(in.MessageBody); got != `{"job_id":"`+id+`","terminal":2,"target":"delivery"}` || in.DelaySeconds != want {
			t.Errorf("%s in %d s, want %d s", got, in.DelaySeconds, want)
		}
		if got, err := queue.OutboxKey(aws.ToString(in.MessageBody)); err != nil || got != k {
			t.Errorf("the body names %+v, %v", got, err)
		}
	}
	down := errors.New("down")
	if err := (&queue.Callbacks{Client: &client{err: down}}).Notify(t.Context(), k, 0); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
}

func TestForeignCallbackMessages(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"", "null", "{}", `{"job_id":"` + id + `"}`, `{"job_id":"` + id + `","terminal":0,"target":"callback"}`,
		`{"job_id":"` + id + `","terminal":1,"target":"other"}`, `{"job_id":"x","terminal":1,"target":"callback"}`,
		`{"job_id":"` + id + `","terminal":10000,"target":"callback"}`,
	} {
		if got, err := queue.OutboxKey(body); !errors.Is(err, queue.ErrMessage) || got != (job.OutboxKey{}) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

func FuzzOutboxKey(f *testing.F) {
	for _, s := range []string{`{"job_id":"` + id + `","terminal":1,"target":"callback"}`, `{"terminal":-1}`, `{`, ``} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		k, err := queue.OutboxKey(body)
		if (err == nil) != k.Valid() {
			t.Errorf("%+v, %v", k, err)
		}
	})
}

package job_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailing/shared/job"
)

func TestOnlyACursorOfTheListIsOne(t *testing.T) {
	t.Parallel()
	const id = "fde28e3e-23c0-490e-9b51-ea880b1c3c87"
	for text, ok := range map[string]bool{
		"001796053968906." + id: true, "": false, id: false, "." + id: false, "01796053968906." + id: false, "0001796053968906." + id: false,
		"00179605396890x." + id: false, "-01796053968906." + id: false, "001796053968906.": false, "001796053968906." + strings.ToUpper(id): false,
		"001796053968906." + id + ".": false, " 001796053968906." + id: false,
	} {
		if c, err := job.ParseCursor(text); (err == nil) != ok || ok && string(c) != text {
			t.Errorf("%q: %q, %v", text, c, err)
		}
	}
}

func TestASummaryIsTheErrorOrTheBeginningOfTheText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ result, reason, want string }{
		{`{"text":"well"}`, "", "well"}, {`{"text":"well"}`, "no", "no"}, {`{}`, "", ""}, {``, "", ""}, {`[]`, "", ""}, {`{"text":1}`, "", ""},
		{`{"text":"` + long + `"}`, "", long}, {`{"text":"` + long + `y"}`, "", long}, {``, long + "y", long},
	} {
		if got := job.SummaryOf(json.RawMessage(c.result), c.reason); got != c.want {
			t.Errorf("%.40s, %.40s: %q", c.result, c.reason, got)
		}
	}
}

func TestALeaseExpiresAtItsEnd(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		status job.Status
		until  time.Time
		want   bool
	}{
		{job.Running, now.Add(time.Millisecond), false}, {job.Running, now, true}, {job.Dispatched, now, true}, {job.Queued, time.Time{}, false},
	} {
		j := job.LiveJob{Brief: job.Brief{Status: c.status}, LeaseUntil: c.until}
		if got := j.ExpiredLease(now); got != c.want {
			t.Errorf("%s until %s: %v", c.status, c.until, got)
		}
	}
}

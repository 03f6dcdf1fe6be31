package sfn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/shared/awslocal/sfn"
	"bailing/shared/clock"
)

// outage is one execution whose service loses its power again and again. What was waited for survives; of the rest, any beginning.
type outage struct {
	t       *testing.T
	random  *rand.Rand
	clock   *clock.Manual
	service *sfn.Service
	journal *journal
	tokens  []string // all that were handed out, over all lives
	decided bool     // an answer of a token was acknowledged
	expired int      // invocations of expire after that
}

func (o *outage) invoke(_ context.Context, _ string, payload []byte) ([]byte, error) {
	var in invocation
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, err
	}
	if in.Token != "" && !slices.Contains(o.tokens, in.Token) {
		o.tokens = append(o.tokens, in.Token)
	}
	if in.Action == "expire" && o.decided {
		o.expired++
	}
	if o.random.IntN(4) == 0 {
		return nil, errors.New("bad luck")
	}
	return []byte(`{"timeout_s":3600}`), nil
}

// live starts a service from the records that survived.
func (o *outage) live(recs [][]byte) {
	o.journal = &journal{recs: recs, synced: len(recs)}
	o.service = sfn.New(sfn.Options{Clock: o.clock, Log: o.journal, Invoke: o.invoke})
	for _, rec := range recs {
		if err := o.service.Replay(rec); err != nil {
			o.t.Fatal(err)
		}
	}
}

// lose ends the service without notice.
func (o *outage) lose() {
	j := o.journal
	o.live(slices.Clone(j.recs[:j.synced+o.random.IntN(len(j.recs)-j.synced+1)]))
}

// ask makes one request and returns the answer, or the type of the error.
func (o *outage) ask(action string, in, out any) string {
	o.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		o.t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(string(body)))
	r.Header.Set("X-Amz-Target", sfn.TargetPrefix+action)
	w := httptest.NewRecorder()
	o.service.ServeHTTP(w, r)
	var failed struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &failed); err != nil {
		o.t.Fatal(err)
	}
	if w.Code != http.StatusOK {
		_, kind, _ := strings.Cut(failed.Type, "#")
		return kind
	}
	if err := json.Unmarshal(w.Body.Bytes(), out); err != nil {
		o.t.Fatal(err)
	}
	return ""
}

func (o *outage) start() {
	if kind := o.ask("StartExecution", map[string]string{"stateMachineArn": machineARN, "name": "x", "input": input}, &struct{}{}); kind != "" && kind != "ExecutionAlreadyExists" {
		o.t.Errorf("start: %s", kind)
	}
}

// decide answers a token that somebody has; one that is over is nobody's loss.
func (o *outage) decide() {
	if len(o.tokens) == 0 {
		return
	}
	token := o.tokens[o.random.IntN(len(o.tokens))]
	switch kind := o.ask("SendTaskSuccess", map[string]string{"taskToken": token, "output": "{}"}, &struct{}{}); kind {
	case "":
		if o.decided {
			o.t.Error("two answers of tokens were acknowledged")
		}
		o.decided = true
	case "TaskTimedOut":
	default:
		o.t.Errorf("answer: %s", kind)
	}
}

func (o *outage) status() string {
	var out struct{ Status string }
	if kind := o.ask("DescribeExecution", map[string]string{"executionArn": strings.Replace(machineARN, "stateMachine", "execution", 1) + ":x"}, &out); kind != "" {
		return kind
	}
	return out.Status
}

// Whatever is lost in between: an acknowledged start comes to its end, an acknowledged answer is the end, there is one at most, and
// nothing expires after it.
func TestTheServiceLosesItsPower(t *testing.T) {
	t.Parallel()
	definition := product(t)
	ends := map[string]int{}
	for seed := range uint64(powerRounds) {
		o := &outage{t: t, random: rand.New(rand.NewPCG(seed, 1)), clock: clock.NewManual(began)}
		o.live(nil)
		if kind := o.ask("CreateStateMachine", map[string]string{"name": machine, "definition": definition, "roleArn": role}, &struct{}{}); kind != "" {
			t.Fatal(kind)
		}
		o.start()
		for range 60 {
			switch o.random.IntN(8) {
			case 0:
				o.lose()
			case 1:
				o.start()
			case 2:
				o.decide()
			case 3:
				o.clock.Advance(time.Duration(o.random.IntN(600)) * time.Second)
			default:
				o.service.Step(context.Background())
			}
		}
		for at, ok := o.service.Next(); ok; at, ok = o.service.Next() {
			o.clock.Advance(max(0, at.Sub(o.clock.Now())))
			o.service.Step(context.Background())
		}
		status := o.status()
		if status != "SUCCEEDED" && (status != "FAILED" || o.decided) || o.expired > 0 {
			t.Errorf("seed %d: %s, decided %v, %d expiries after that", seed, status, o.decided, o.expired)
		}
		ends[fmt.Sprint(status, " decided ", o.decided)]++
	}
	if ends["SUCCEEDED decided true"] < powerRounds/10 || ends["SUCCEEDED decided false"] < powerRounds/10 {
		t.Errorf("%v: too little of everything", ends)
	}
	t.Log(ends)
}

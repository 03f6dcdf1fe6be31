package sfn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"bailing/shared/awslocal/sfn"
)

// journal is a journal in memory that can fail. synced counts the records that were waited for.
type journal struct {
	mu     sync.Mutex
	recs   [][]byte
	synced int
	fail   error
}

func (j *journal) AppendNoSync(rec []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return j.fail
	}
	j.recs = append(j.recs, slices.Clone(rec))
	return nil
}

func (j *journal) Append(rec []byte) error {
	err := j.AppendNoSync(rec)
	if err == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.synced = len(j.recs)
	}
	return err
}

// restart returns the environment of the next process, whose clock goes on and whose functions are the same. snapshot says that it
// starts from a snapshot instead of the log.
func (e *env) restart(j *journal, snapshot bool) (*env, *journal) {
	e.t.Helper()
	recs := slices.Clone(j.recs)
	if snapshot {
		recs = e.snapshot()
	}
	nj := &journal{recs: recs}
	next := setupLog(e.t, nj)
	next.clock.Advance(e.clock.Now().Sub(next.clock.Now()))
	next.f.answer = e.f.answer
	for _, rec := range recs {
		if err := next.service.Replay(rec); err != nil {
			e.t.Fatalf("replay %s: %v", rec, err)
		}
	}
	return next, nj
}

func (e *env) snapshot() (recs [][]byte) {
	e.t.Helper()
	if err := e.service.Snapshot(func(rec []byte) error {
		recs = append(recs, slices.Clone(rec))
		return nil
	}); err != nil {
		e.t.Fatal(err)
	}
	return recs
}

// stations are the places in an execution's life at which a process may end. arrive brings a fresh environment there.
var stations = []struct {
	name   string
	arrive func(e *env)
	// then are the invocations of the next process, after two more hours.
	then []string
	// ends is what has become of it by then.
	ends types.ExecutionStatus
}{
	{"started, nothing invoked", func(e *env) { e.start("ticket-1") }, []string{"notify@0", "remaining@0", "hold@0", "expire@3600"}, "SUCCEEDED"},
	{"the first function runs", func(e *env) { e.start("ticket-1"); e.cutOff("notify") }, []string{"notify@0", "remaining@0", "hold@0", "expire@3600"}, "SUCCEEDED"},
	{"between two tries", func(e *env) { e.failOnce("notify"); e.start("ticket-1"); e.until(2 * time.Second) },
		[]string{"notify@5", "remaining@5", "hold@5", "expire@3605"}, "SUCCEEDED"},
	{"between two states", func(e *env) { e.start("ticket-1"); e.cutOff("remaining") }, []string{"remaining@0", "hold@0", "expire@3600"}, "SUCCEEDED"},
	{"the function that takes the token runs", func(e *env) { e.start("ticket-1"); e.cutOff("hold") }, []string{"hold@0", "expire@3600"}, "SUCCEEDED"},
	{"the token is waited for", func(e *env) { e.start("ticket-1"); e.until(30 * time.Minute) }, []string{"expire@3600"}, "SUCCEEDED"},
	{"between two tries to hold", func(e *env) { e.failOnce("hold"); e.start("ticket-1"); e.until(time.Second) }, []string{"hold@2", "expire@3602"}, "SUCCEEDED"},
	{"the ticket is being expired", func(e *env) {
		e.start("ticket-1")
		e.until(time.Hour - time.Second)
		e.clock.Advance(time.Second)
		e.cutOff("expire")
	},
		[]string{"expire@3600"}, "SUCCEEDED"},
	{"between two tries to expire", func(e *env) { e.failOnce("expire"); e.start("ticket-1"); e.until(time.Hour + time.Second) }, []string{"expire@3602"}, "SUCCEEDED"},
	{"the token was answered", func(e *env) {
		e.start("ticket-1")
		e.settle()
		if err := e.success(e.f.last().Token); err != nil {
			e.t.Error(err)
		}
	}, nil, "SUCCEEDED"},
	{"it was stopped", func(e *env) {
		arn := e.start("ticket-1")
		e.settle()
		if _, err := e.c.StopExecution(context.Background(), &client.StopExecutionInput{ExecutionArn: &arn}); err != nil {
			e.t.Error(err)
		}
	}, nil, "ABORTED"},
}

// failOnce lets the first invocation of an action fail.
func (e *env) failOnce(action string) {
	left := 1
	e.f.answer = func(_ context.Context, i invocation) (any, error) {
		if i.Action == action && left > 0 {
			left--
			return nil, errors.New("once")
		}
		return map[string]int{"timeout_s": 3600}, nil
	}
}

// cutOff goes on until the function of an action runs, and ends it there as the death of the process would.
func (e *env) cutOff(action string) {
	e.t.Helper()
	before := e.f.answer
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cut := false
	e.f.answer = func(ctx context.Context, i invocation) (any, error) {
		if i.Action != action {
			return map[string]int{"timeout_s": 3600}, nil
		}
		cut = true
		cancel()
		return nil, ctx.Err()
	}
	for !cut {
		if !e.service.Step(ctx) {
			e.t.Fatalf("%s is never invoked", action)
		}
	}
	e.f.answer = before
}

func TestExecutionsSurviveARestartEverywhere(t *testing.T) {
	t.Parallel()
	for _, station := range stations {
		for _, snapshot := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, snapshot %v", station.name, snapshot), func(t *testing.T) {
				t.Parallel()
				j := &journal{}
				e := setupLog(t, j)
				e.create(product(t))
				station.arrive(e)
				next, _ := e.restart(j, snapshot)
				next.until(2 * time.Hour)
				next.wantCalls(station.then...)
				next.wantStatus("arn:aws:states:us-east-1:000000000000:execution:approvals:ticket-1", station.ends)
				again, err := next.c.StartExecution(t.Context(), &client.StartExecutionInput{StateMachineArn: aws.String(machineARN), Name: aws.String("ticket-1"), Input: aws.String(input)})
				if code(err) != "ExecutionAlreadyExists" {
					t.Errorf("its name is free: %+v, %v", again, err)
				}
			})
		}
	}
}

// A token that was handed out before the end of a process is good after it: for the attempt that waits, and for the one whose
// invocation was cut off, which is made again with the same token.
func TestTokensSurviveARestart(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		j := &journal{}
		e := setupLog(t, j)
		e.create(product(t))
		arn := e.start("ticket-1")
		if cut {
			e.cutOff("hold")
		} else {
			e.settle()
		}
		hold := e.f.last().Token
		next, _ := e.restart(j, cut)
		if cut {
			next.settle()
			if again := next.f.last().Token; again != hold {
				t.Error("the invocation that is made again brings another token")
			}
		}
		if err := next.success(hold); err != nil {
			t.Errorf("cut off %v: %v", cut, err)
		}
		next.wantStatus(arn, types.ExecutionStatusSucceeded)
		if err := next.success(hold); code(err) != "TaskTimedOut" {
			t.Errorf("cut off %v, twice: %v", cut, err)
		}
	}
}

// Time that passes while nobody runs counts: what became due happens at once.
func TestTimePassesWhileNobodyRuns(t *testing.T) {
	t.Parallel()
	j := &journal{}
	e := setupLog(t, j)
	e.create(product(t))
	arn := e.start("ticket-1")
	e.settle()
	hold := e.f.last().Token
	e.clock.Advance(3 * time.Hour)
	next, _ := e.restart(j, false)
	if err := next.success(hold); code(err) != "TaskTimedOut" {
		t.Errorf("a token that ran out meanwhile: %v", err)
	}
	next.settle()
	next.wantCalls("expire@10800")
	next.wantStatus(arn, types.ExecutionStatusSucceeded)
}

// Every prefix of the log is a state that somebody may find. From each the execution comes to its end, and a record that is
// replayed onto a state that has it already changes nothing.
func TestEveryPrefixOfTheLogGoesOn(t *testing.T) {
	t.Parallel()
	j := &journal{}
	e := setupLog(t, j)
	e.create(product(t))
	e.failOnce("notify")
	e.start("ticket-1")
	e.until(2 * time.Hour)
	all := slices.Clone(j.recs)
	if len(all) < 10 {
		t.Fatalf("%d records", len(all))
	}
	for n := 2; n <= len(all); n++ { // the machine and the start
		next := setupLog(t, nil)
		for i := range n {
			if err := next.service.Replay(all[i]); err != nil {
				t.Fatal(err)
			}
		}
		for i := range n { // all of it once more
			if err := next.service.Replay(all[i]); err != nil {
				t.Fatal(err)
			}
		}
		next.until(24 * time.Hour)
		next.wantStatus("arn:aws:states:us-east-1:000000000000:execution:approvals:ticket-1", types.ExecutionStatusSucceeded)
	}
}

// An execution that was under way keeps its definition over a restart, even from a snapshot.
func TestDefinitionsOfExecutionsSurviveARestart(t *testing.T) {
	t.Parallel()
	for _, snapshot := range []bool{false, true} {
		j := &journal{}
		e := setupLog(t, j)
		e.create(product(t))
		arn := e.start("ticket-1")
		e.settle()
		for _, definition := range []string{task(""), task(`,"ResultPath":null`)} {
			if _, err := e.c.UpdateStateMachine(t.Context(), &client.UpdateStateMachineInput{StateMachineArn: aws.String(machineARN), Definition: &definition}); err != nil {
				t.Fatal(err)
			}
		}
		next, _ := e.restart(j, snapshot)
		next.start("ticket-2")
		next.until(2 * time.Hour)
		next.wantCalls("a@0", "expire@3600")
		next.wantStatus(arn, types.ExecutionStatusSucceeded)
		o, err := next.c.DescribeStateMachine(t.Context(), &client.DescribeStateMachineInput{StateMachineArn: aws.String(machineARN)})
		if err != nil || aws.ToString(o.Definition) != task(`,"ResultPath":null`) {
			t.Errorf("%+v, %v", o, err)
		}
	}
}

// What is acknowledged was waited for; what the machine does by itself is not.
func TestAcknowledgedIsSynced(t *testing.T) {
	t.Parallel()
	j := &journal{}
	e := setupLog(t, j)
	synced := func(what string) {
		t.Helper()
		if j.synced != len(j.recs) {
			t.Errorf("%s: %d of %d records are on stable storage", what, j.synced, len(j.recs))
		}
	}
	e.create(product(t))
	synced("create")
	arn := e.start("ticket-1")
	synced("start")
	e.settle()
	if j.synced == len(j.recs) {
		t.Error("the machine's own steps wait for stable storage, so this proves nothing")
	}
	if err := e.success(e.f.last().Token); err != nil {
		t.Fatal(err)
	}
	synced("success")
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
	arn = e.start("ticket-2")
	e.settle()
	if _, err := e.c.StopExecution(t.Context(), &client.StopExecutionInput{ExecutionArn: &arn}); err != nil {
		t.Fatal(err)
	}
	synced("stop")
}

// A request that the journal does not take is refused and has no effect.
func TestAJournalThatFails(t *testing.T) {
	t.Parallel()
	j := &journal{}
	e := setupLog(t, j)
	e.create(product(t))
	arn := e.start("ticket-1")
	e.settle()
	hold := e.f.last().Token
	broken := func(fail error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.fail = fail
	}
	broken(errors.New("full"))
	if err := e.success(hold); code(err) != "InternalFailure" {
		t.Errorf("success: %v", err)
	}
	_, err := e.c.StartExecution(t.Context(), &client.StartExecutionInput{StateMachineArn: aws.String(machineARN), Name: aws.String("ticket-2"), Input: aws.String(input)})
	if code(err) != "InternalFailure" {
		t.Errorf("start: %v", err)
	}
	if _, err := e.c.DescribeExecution(t.Context(), &client.DescribeExecutionInput{ExecutionArn: aws.String(strings.Replace(arn, "-1", "-2", 3))}); code(err) == "<nil>" {
		t.Error("an execution that was not started exists")
	}
	if err := e.tryCreate(product(t)); err != nil {
		t.Errorf("what exists already needs no journal: %v", err)
	}
	broken(nil)
	if err := e.success(hold); err != nil {
		t.Errorf("success, later: %v", err)
	}
	e.start("ticket-2")
	e.settle()
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
}

func TestRecordsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, rec := range []string{`{`, `{"kind":"other"}`, `{"kind":"machine","machine":"m","text":"{}"}`, `{"kind":"execution","machine":"m","name":"x","seq":1,"progress":{}}`} {
		if err := sfn.New(sfn.Options{}).Replay([]byte(rec)); err == nil {
			t.Errorf("%s: accepted", rec)
		}
	}
}

package awslocal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// printToken is the function of the child's machines: it hands the task token to the parent, over standard output.
func printToken(_ context.Context, _ string, payload []byte) ([]byte, error) {
	var in struct{ Name, Token string }
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, err
	}
	fmt.Println(in.Name, in.Token)
	return []byte(`{}`), nil
}

// tokens are what the children have handed out, by the name of the execution. An execution has one token in all its lives.
type tokens struct {
	mu      sync.Mutex
	changed *sync.Cond
	byName  map[string]string
	dead    bool // the present child
}

func newTokens() *tokens {
	b := &tokens{byName: map[string]string{}}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// read takes what a new child prints until it dies; done is closed then.
func (b *tokens) read(lines *bufio.Reader) <-chan struct{} {
	done := make(chan struct{})
	b.mu.Lock()
	b.dead = false
	b.mu.Unlock()
	go func() {
		defer close(done)
		for {
			line, err := lines.ReadString('\n')
			b.mu.Lock()
			if name, token, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && err == nil {
				b.byName[name] = token
			}
			b.dead = err != nil
			b.changed.Broadcast()
			b.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return done
}

var errChildDied = errors.New("the child died")

// wait returns the token of an execution, once its function was invoked.
func (b *tokens) wait(name string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.byName[name] == "" && !b.dead {
		b.changed.Wait()
	}
	if token := b.byName[name]; token != "" {
		return token, nil
	}
	return "", errChildDied
}

const (
	killMachine    = "waits"
	killMachineARN = "arn:aws:states:us-east-1:000000000000:stateMachine:" + killMachine
	killDefinition = `{"StartAt":"Hold","States":{"Hold":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",` +
		`"Parameters":{"FunctionName":"arn:aws:lambda:us-east-1:000000000000:function:print","Payload":{"name.$":"$.name","token.$":"$$.Task.Token"}},` +
		`"Next":"Done"},"Done":{"Type":"Succeed"}}}`
)

// waitWriter starts executions one after the other and answers their tokens.
type waitWriter struct {
	name   string
	tokens *tokens
	n      int
	// began and answered are the executions of which the start, or the answer, was acknowledged (true) or tried.
	began, answered map[string]bool
}

func (w *waitWriter) setup(t *testing.T, c clients) {
	t.Helper()
	w.began, w.answered = map[string]bool{}, map[string]bool{}
	if _, err := c.sfn.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{Name: aws.String(killMachine), Definition: aws.String(killDefinition),
		RoleArn: aws.String("arn:aws:iam::000000000000:role/local")}); err != nil {
		t.Fatal(err)
	}
}

func (w *waitWriter) write(ctx context.Context, c clients) error {
	w.n++
	name := fmt.Sprint(w.name, "-", w.n)
	w.began[name] = false
	if _, err := c.sfn.StartExecution(ctx, &sfn.StartExecutionInput{StateMachineArn: aws.String(killMachineARN), Name: &name, Input: aws.String(fmt.Sprintf(`{"name":%q}`, name))}); err != nil {
		return err
	}
	w.began[name] = true
	token, err := w.tokens.wait(name)
	if err != nil {
		return err
	}
	w.answered[name] = false
	if _, err := c.sfn.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String("{}")}); err != nil {
		return err
	}
	w.answered[name] = true
	return nil
}

// verify finds every acknowledged start and answer, and brings the executions that wait to their end, with the tokens that earlier
// lives handed out or with those that come now.
func (w *waitWriter) verify(t *testing.T, c clients) {
	t.Helper()
	for name, began := range w.began {
		arn := strings.Replace(killMachineARN, "stateMachine", "execution", 1) + ":" + name
		o, err := c.sfn.DescribeExecution(t.Context(), &sfn.DescribeExecutionInput{ExecutionArn: &arn})
		var absent *types.ExecutionDoesNotExist
		if errors.As(err, &absent) && !began {
			continue // the start died with the server
		}
		if err != nil {
			t.Fatalf("%s: %v; the start was acknowledged: %v", name, err, began)
		}
		answered, tried := w.answered[name]
		if o.Status == types.ExecutionStatusSucceeded && tried {
			continue
		}
		if o.Status != types.ExecutionStatusRunning || answered {
			t.Errorf("%s is %s; its token was answered: %v, tried: %v", name, o.Status, answered, tried)
			continue
		}
		token, err := w.tokens.wait(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := c.sfn.SendTaskSuccess(t.Context(), &sfn.SendTaskSuccessInput{TaskToken: &token, Output: aws.String("{}")}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.answered[name] = true
	}
	for name, began := range w.began {
		if !began && !w.answered[name] {
			delete(w.began, name) // it never was
		}
	}
}

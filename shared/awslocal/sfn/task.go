package sfn

import (
	"encoding/json"
	"fmt"
	"time"

	"bailing/shared/plainjson"
)

// The functions here say where an execution goes next. They change nothing.

// end is the progress of an execution that has not succeeded.
func (x *execution) end(status, err, cause string, now time.Time) progress {
	return progress{Status: status, Error: err, Cause: cause, Stopped: now, Attempt: x.Attempt}
}

// broken ends an execution that its definition and its data do not get along with.
func (x *execution) broken(why error, now time.Time) progress {
	return x.end(failed, errorRuntime, why.Error(), now)
}

// enter is the progress when the state of that name begins.
func (x *execution) enter(name, input string, now time.Time) progress {
	st := x.revision.def.states[name]
	if st.succeed {
		return progress{Status: succeeded, Output: input, Stopped: now, Attempt: x.Attempt}
	}
	return progress{Status: running, State: name, Input: input, Attempt: x.Attempt + 1, Tries: make([]int, len(st.retry)), ReadyAt: now}
}

// leave puts the result of a task into its input and enters the next state.
func (x *execution) leave(where resultPath, result any, next string, now time.Time) progress {
	input, err := decode([]byte(x.progress.Input))
	if err != nil {
		return x.broken(err, now)
	}
	data, err := where.put(input, result)
	if err != nil {
		return x.broken(err, now)
	}
	text, err := plainjson.Marshal(data)
	if err != nil {
		return x.broken(err, now)
	}
	if len(text) > maxData {
		return x.tooLarge(now)
	}
	return x.enter(next, string(text), now)
}

func (x *execution) tooLarge(now time.Time) progress {
	return x.end(failed, errorDataLimit, fmt.Sprintf("The state '%s' has an input or a result of more than %d bytes.", x.State, maxData), now)
}

// complete is the progress when the task has its result, JSON.
func (x *execution) complete(result []byte, now time.Time) progress {
	if len(result) > maxData {
		return x.tooLarge(now)
	}
	v, err := decode(result)
	if err != nil {
		return x.broken(fmt.Errorf("the result of the state '%s' is no JSON", x.State), now)
	}
	st := x.task()
	if st.selector != nil {
		if v, err = st.selector.fill(v, ""); err != nil {
			return x.broken(err, now)
		}
	}
	return x.leave(st.result, v, st.next, now)
}

// answered is the progress when the function of the task has answered.
func (x *execution) answered(payload []byte, now time.Time) progress {
	if x.task().token {
		next := x.progress
		next.Answered = true
		return next
	}
	result, err := json.Marshal(struct {
		Version string          `json:"ExecutedVersion"`
		Payload json.RawMessage `json:"Payload"`
		Status  int             `json:"StatusCode"`
	}{"$LATEST", payload, 200})
	if err != nil {
		return x.broken(fmt.Errorf("the function of the state '%s' answers no JSON", x.State), now)
	}
	return x.complete(result, now)
}

// fail is the progress when the task has failed: the first retrier that knows the error and has tries left, or else the first
// catcher, or else the end.
func (x *execution) fail(err, cause string, now time.Time) progress {
	st := x.task()
	for i, r := range st.retry {
		if !matches(r.errors, err) {
			continue
		}
		if x.Tries[i] >= r.maxAttempts {
			break // a retrier that is used up hides those behind it
		}
		tries := append([]int(nil), x.Tries...)
		tries[i]++
		return progress{Status: running, State: x.State, Input: x.progress.Input, Attempt: x.Attempt + 1, Tries: tries,
			ReadyAt: now.Add(r.delay(x.Tries[i]))}
	}
	for _, c := range st.catch {
		if matches(c.errors, err) {
			return x.leave(c.result, map[string]any{"Error": err, "Cause": cause}, c.next, now)
		}
	}
	return x.end(failed, err, cause, now)
}

// begin is the progress when an attempt begins: its time-out runs from now.
func (x *execution) begin(now time.Time) (progress, error) {
	next := x.progress
	next.Begun = true
	st := x.task()
	seconds := st.timeoutSeconds
	if st.timeoutPath != nil {
		input, err := decode([]byte(x.progress.Input))
		if err != nil {
			return next, err
		}
		v, err := st.timeoutPath.in(input)
		if err != nil {
			return next, err
		}
		n, _ := v.(json.Number)
		whole, err := n.Int64()
		if err != nil || whole < 1 || whole > maxSeconds {
			return next, fmt.Errorf("TimeoutSecondsPath of the state '%s' leads to no whole number from 1 to %d", x.State, maxSeconds)
		}
		seconds = int(whole)
	}
	if seconds > 0 {
		next.Deadline = now.Add(time.Duration(seconds) * time.Second)
	}
	return next, nil
}

// payload is what the function of the task is invoked with.
func (x *execution) payload(token string) ([]byte, error) {
	input, err := decode([]byte(x.progress.Input))
	if err != nil {
		return nil, err
	}
	filled, err := x.task().payload.fill(input, token)
	if err != nil {
		return nil, err
	}
	return plainjson.Marshal(filled)
}

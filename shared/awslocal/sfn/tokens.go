package sfn

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"encoding/binary"
)

const (
	tokenHead   = 16 // bytes: execution and attempt
	tokenBlocks = 8  // of 64 bytes: a token is as long as those of AWS, so that whoever keeps one finds out here
	maxToken    = 2048
)

// token names an attempt of an execution. Nobody without the key can make one up, and equal attempts have equal tokens: an invocation
// that is made again after a restart brings the token that its first try may have handed on already.
func (s *Service) token(seq, attempt uint64) string {
	head := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, seq), attempt)
	out := head
	for i := range byte(tokenBlocks) {
		mac := hmac.New(sha512.New, s.key)
		mac.Write([]byte{i})
		mac.Write(head)
		out = mac.Sum(out)
	}
	return base64.RawURLEncoding.EncodeToString(out)
}

// taskOf finds the execution and the attempt that a token names.
func (s *Service) taskOf(token string) (*execution, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) < tokenHead {
		return nil, 0, errToken()
	}
	seq, attempt := binary.BigEndian.Uint64(raw), binary.BigEndian.Uint64(raw[8:])
	if !hmac.Equal([]byte(token), []byte(s.token(seq, attempt))) {
		return nil, 0, errToken()
	}
	s.forget()
	x, ok := s.executions[seq]
	if !ok {
		return nil, 0, errNoTask()
	}
	return x, attempt, nil
}

func (s *Service) sendTaskSuccess(r *request) (any, error) {
	var in struct {
		Token  string `json:"taskToken"`
		Output string `json:"output"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if _, err := decode([]byte(in.Output)); err != nil || len(in.Output) > maxData {
		return nil, refused("InvalidOutput", "Invalid Output: no JSON of at most %d bytes", maxData)
	}
	return s.answerToken(in.Token, func(x *execution) progress { return x.complete([]byte(in.Output), s.clock.Now()) })
}

func (s *Service) sendTaskFailure(r *request) (any, error) {
	var in struct {
		Token string `json:"taskToken"`
		Error string `json:"error"`
		Cause string `json:"cause"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if len(in.Error) > maxError || len(in.Cause) > maxCause {
		return nil, errValidation("The error or the cause is too long.")
	}
	return s.answerToken(in.Token, func(x *execution) progress { return x.fail(in.Error, in.Cause, s.clock.Now()) })
}

// answerToken moves the execution of a token on, if the token's attempt is under way. A token whose time-out has passed is
// late, even if nobody has noticed yet.
func (s *Service) answerToken(token string, next func(*execution) progress) (any, error) {
	if len(token) < 1 || len(token) > maxToken {
		return nil, errValidation("A task token has 1 to %d characters.", maxToken)
	}
	x, attempt, err := s.taskOf(token)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	late := !x.Deadline.IsZero() && !s.clock.Now().Before(x.Deadline)
	if x.Status != running || x.Attempt != attempt || !x.Begun || !x.task().token || late {
		return nil, errTaskOver()
	}
	if err := s.move(x, next(x), true); err != nil {
		return nil, err
	}
	s.wakeUp()
	return struct{}{}, nil
}

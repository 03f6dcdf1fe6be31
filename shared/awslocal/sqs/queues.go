package sqs

import (
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxQueueName is the limit on a queue name, in characters of letters, digits, '-' and '_'.
const maxQueueName = 80

// url is the queue's address on the host that the client used.
func (r *request) url(q *queue) string {
	scheme := "http://"
	if r.http.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.http.Host + "/" + account + "/" + q.name
}

// queueAt finds the queue of a URL, which is the request's own path when the member QueueUrl is absent. The caller holds mu.
func (s *Service) queueAt(r *request, url string) (*queue, error) {
	if url == "" {
		url = r.http.URL.Path
		if strings.Trim(url, "/") == "" {
			return nil, errMissing("QueueUrl")
		}
	}
	parts := strings.Split(url, "/")
	if len(parts) < 3 {
		return nil, modelled("InvalidAddress", false, "The address %s is not valid for this endpoint.", url)
	}
	q, ok := s.byName[parts[len(parts)-1]]
	if !ok || parts[len(parts)-2] != account {
		return nil, errNoQueue()
	}
	return q, nil
}

// queueByARN returns the queue of an ARN, or nil. The caller holds mu.
func (s *Service) queueByARN(arn string) *queue {
	q := s.byName[arn[strings.LastIndexByte(arn, ':')+1:]]
	if q == nil || q.arn() != arn {
		return nil
	}
	return q
}

func (s *Service) createQueue(r *request) (any, error) {
	var in struct {
		QueueName  string
		Attributes map[string]string
		Tags       map[string]string `json:"tags"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if err := checkQueueName(in.QueueName); err != nil {
		return nil, err
	}
	if len(in.Tags) > 0 {
		return nil, errUnsupported("The parameter tags")
	}
	s.gate.Lock()
	defer s.gate.Unlock()
	s.mu.Lock()
	q, rec, err := s.planCreate(in.QueueName, in.Attributes)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if rec != nil {
		if err := s.log.Append(rec.encode()); err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := s.apply(*rec); err != nil {
			return nil, err
		}
		q = s.queues[rec.Queue]
	}
	return map[string]string{"QueueUrl": r.url(q)}, nil
}

// planCreate returns the queue that exists already with these attributes, or the record that makes it.
func (s *Service) planCreate(name string, attributes map[string]string) (*queue, *record, error) {
	set := defaultSettings()
	q, exists := s.byName[name]
	if exists {
		set = q.settings
	}
	for _, a := range slices.Sorted(maps.Keys(attributes)) {
		if err := set.set(a, attributes[a], s.target(name)); err != nil {
			return nil, nil, err
		}
		if !exists {
			continue
		}
		was, _ := q.settings.get(a)
		if now, _ := set.get(a); now != was {
			return nil, nil, errQueueExists(name, a)
		}
	}
	if exists {
		return q, nil, nil
	}
	id := s.nextQueue
	s.nextQueue++
	now := s.clock.Now()
	return nil, &record{Kind: recCreate, Queue: id, Name: name, Settings: &set, Created: now, At: now}, nil
}

// target returns the check of a dead-letter target for the queue called name. A queue cannot be its own.
func (s *Service) target(name string) func(string) bool {
	return func(arn string) bool {
		q := s.queueByARN(arn)
		return q != nil && q.name != name
	}
}

func checkQueueName(name string) error {
	if name == "" {
		return errMissing("QueueName")
	}
	if strings.HasSuffix(name, ".fifo") {
		return errUnsupported("A FIFO queue (" + name + ")")
	}
	if len(name) > maxQueueName || strings.Trim(name, nameCharacters) != "" {
		return errParameter("Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length.")
	}
	return nil
}

const nameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func (s *Service) getQueueURL(r *request) (any, error) {
	var in struct{ QueueName, QueueOwnerAWSAccountId string }
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if in.QueueName == "" {
		return nil, errMissing("QueueName")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.byName[in.QueueName]
	if !ok || in.QueueOwnerAWSAccountId != "" && in.QueueOwnerAWSAccountId != account {
		return nil, errNoQueue()
	}
	return map[string]string{"QueueUrl": r.url(q)}, nil
}

func (s *Service) listQueues(r *request) (any, error) {
	var in struct {
		QueueNamePrefix, NextToken string
		MaxResults                 *int
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	limit := 1000
	if in.MaxResults != nil {
		if limit = *in.MaxResults; limit < 1 || limit > 1000 {
			return nil, errParameter("Value %d for parameter MaxResults is invalid. Reason: Must be between 1 and 1000.", limit)
		}
	}
	after, err := base64.RawURLEncoding.DecodeString(in.NextToken)
	if err != nil {
		return nil, errParameter("Value for parameter NextToken is invalid.")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out struct {
		QueueUrls []string `json:",omitempty"`
		NextToken string   `json:",omitempty"`
	}
	last := ""
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		if name <= string(after) || !strings.HasPrefix(name, in.QueueNamePrefix) {
			continue
		}
		if len(out.QueueUrls) == limit {
			// Without MaxResults a client does not expect pages.
			if in.MaxResults != nil {
				out.NextToken = base64.RawURLEncoding.EncodeToString([]byte(last))
			}
			break
		}
		out.QueueUrls = append(out.QueueUrls, r.url(s.byName[name]))
		last = name
	}
	return out, nil
}

func (s *Service) getQueueAttributes(r *request) (any, error) {
	var in struct {
		QueueUrl       string
		AttributeNames []string
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueAt(r, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if err := s.refresh(q, s.clock.Now()); err != nil {
		return nil, err
	}
	all := q.attributes()
	out := map[string]string{}
	for _, name := range in.AttributeNames {
		value, ok := all[name]
		switch {
		case name == "All":
			maps.Copy(out, all)
		case ok:
			out[name] = value
		case name == attrRedrive:
		default:
			return nil, modelled("InvalidAttributeName", false, "Unknown Attribute %s.", name)
		}
	}
	return map[string]any{"Attributes": out}, nil
}

func (q *queue) attributes() map[string]string {
	visible, inFlight, delayed := q.counts()
	all := map[string]string{
		"QueueArn":                              q.arn(),
		"CreatedTimestamp":                      strconv.FormatInt(q.created.Unix(), 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(q.modified.Unix(), 10),
		"ApproximateNumberOfMessages":           strconv.Itoa(visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(inFlight),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(delayed),
	}
	for _, name := range []string{attrVisibility, attrDelay, attrMaxSize, attrRetention, attrWait, attrRedrive} {
		if value, ok := q.settings.get(name); ok {
			all[name] = value
		}
	}
	return all
}

// errNothing says that a change of a queue is not needed.
var errNothing = errors.New("nothing to change")

// change runs an exclusive change of one queue: plan makes the record, which is then appended and applied.
func (s *Service) change(r *request, url string, plan func(*queue) (record, error)) (any, error) {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.mu.Lock()
	q, err := s.queueAt(r, url)
	var rec record
	if err == nil {
		rec, err = plan(q)
	}
	s.mu.Unlock()
	if errors.Is(err, errNothing) {
		return struct{}{}, nil
	}
	if err != nil {
		return nil, err
	}
	rec.Queue, rec.At = q.id, s.clock.Now()
	if err := s.log.Append(rec.encode()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return struct{}{}, s.apply(rec)
}

func (s *Service) setQueueAttributes(r *request) (any, error) {
	var in struct {
		QueueUrl   string
		Attributes map[string]string
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	return s.change(r, in.QueueUrl, func(q *queue) (record, error) {
		set := q.settings
		for _, a := range slices.Sorted(maps.Keys(in.Attributes)) {
			if err := set.set(a, in.Attributes[a], s.target(q.name)); err != nil {
				return record{}, err
			}
		}
		if len(in.Attributes) == 0 {
			return record{}, errNothing
		}
		return record{Kind: recSet, Settings: &set}, nil
	})
}

func (s *Service) purgeQueue(r *request) (any, error) { return s.changePlainly(r, recPurge) }

func (s *Service) deleteQueue(r *request) (any, error) { return s.changePlainly(r, recDrop) }

func (s *Service) changePlainly(r *request, kind string) (any, error) {
	var in struct{ QueueUrl string }
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	return s.change(r, in.QueueUrl, func(*queue) (record, error) { return record{Kind: kind}, nil })
}

func (q *queue) change(set settings, at time.Time) {
	q.settings, q.modified = set, at
	q.expires = time.Time{}
	for _, m := range q.messages {
		if e := m.Sent.Add(set.retention()); q.expires.IsZero() || e.Before(q.expires) {
			q.expires = e
		}
	}
}

// drop forgets q. Its name may belong to a later queue while old records are replayed.
func (s *Service) drop(q *queue) {
	delete(s.queues, q.id)
	if s.byName[q.name] == q {
		delete(s.byName, q.name)
	}
	q.wake()
}

func (q *queue) purge() {
	for _, m := range q.messages {
		q.remove(m)
	}
}

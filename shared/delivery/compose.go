package delivery

import (
	"encoding/json"
	"fmt"

	"bailing/shared/canonical"
	"bailing/shared/job"
	"bailing/shared/plainjson"
	"bailing/shared/textlimit"
)

const (
	// messageMax is how much text a delivery's summary repeats, in UTF-16 units (core §2.5).
	messageMax = 1800
	// previewMax is how much of a body lists show, in UTF-16 units (core §2.6).
	previewMax = 500
)

// Draft is an outbox row as the end of a job writes it.
type Draft struct {
	Key     job.OutboxKey
	URL     string
	Body    []byte
	Preview string
	Dead    string // "" = pending; else why it is a dead letter from the start
}

// Skipped is the audit record's reason for a delivery that the submitter did not want.
const Skipped = "metadata.no_delivery"

// Compose returns what has to be sent about the end of j, which is its terminal event of that number. skipped names a
// delivery that is left out, or is "". It decides by j alone, so that composing again gives the same bytes.
func Compose(j *job.Job, terminal int) (drafts []Draft, skipped string, err error) {
	if j.CallbackURL != "" {
		d, err := draft(j, terminal, job.ToCallback, j.CallbackURL, callback{View: job.ViewOf(j), TerminalSeq: terminal})
		if err != nil {
			return nil, "", err
		}
		drafts = append(drafts, d)
	}
	switch to := j.Snapshot.Delivery; {
	case to == nil:
	case unwanted(j.Metadata):
		skipped = Skipped
	default:
		d, err := draft(j, terminal, job.ToDelivery, to.URL, webhookOf(j, terminal))
		if err != nil {
			return nil, "", err
		}
		drafts = append(drafts, d)
	}
	return drafts, skipped, nil
}

// ReasonUnreadable is the reason of a dead letter whose job could not be read when it ended.
const ReasonUnreadable = "the job could not be read when it ended; this body holds only its state"

// Salvage is [Compose] for a job of which only the state is known, and where to send: a value that cannot be read must not
// keep a job from its end. The rows are dead letters.
func Salvage(j *job.Job, terminal int, callbackURL, deliveryURL string) ([]Draft, error) {
	j.CallbackURL = callbackURL
	var drafts []Draft
	for _, to := range []struct {
		target job.OutboxTarget
		url    string
		body   any
	}{
		{job.ToCallback, callbackURL, callback{View: job.ViewOf(j), TerminalSeq: terminal}},
		{job.ToDelivery, deliveryURL, webhookOf(j, terminal)},
	} {
		if to.url == "" {
			continue
		}
		d, err := draft(j, terminal, to.target, to.url, to.body)
		if err != nil {
			return nil, err
		}
		d.Dead = ReasonUnreadable
		drafts = append(drafts, d)
	}
	return drafts, nil
}

// callback is the body of a job callback: what GET /jobs/{id} shows, and the number of this end, by which a receiver can
// drop an older event that arrives late.
type callback struct {
	job.View
	TerminalSeq int `json:"terminal_seq"`
}

// webhook is the body of a route delivery (core §2.5).
type webhook struct {
	Kind        string          `json:"kind"`
	JobID       string          `json:"job_id"`
	RequestID   string          `json:"request_id"`
	RouteName   string          `json:"route_name"`
	Status      job.Status      `json:"status"`
	Message     string          `json:"message"`
	Text        *string         `json:"text"`
	Attachments []struct{}      `json:"attachments"`
	Report      json.RawMessage `json:"report"`
	Error       *string         `json:"error"`
	Metadata    json.RawMessage `json:"metadata"`
	FinishedAt  string          `json:"finished_at"`
	TerminalSeq int             `json:"terminal_seq"`
}

func webhookOf(j *job.Job, terminal int) webhook {
	v := job.ViewOf(j)
	w := webhook{
		Kind: "delivery", JobID: j.ID, RequestID: j.RequestID, RouteName: j.Snapshot.RouteName, Status: j.Status,
		Text: textOf(j.Result), Attachments: []struct{}{}, Report: v.Report, Error: v.Error, Metadata: v.Metadata,
		FinishedAt: v.UpdatedAt, TerminalSeq: terminal,
	}
	if j.Status != job.Done {
		w.Text = nil
	}
	said := j.Error
	if w.Text != nil {
		said = *w.Text
	}
	w.Message = j.Snapshot.RouteName + ": " + string(j.Status)
	if said != "" {
		w.Message += "\n" + textlimit.Cut(said, messageMax)
	}
	return w
}

// textOf is the member text of a result; nil when there is none.
func textOf(result json.RawMessage) *string {
	var r struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(result, &r) != nil {
		return nil
	}
	return r.Text
}

// unwanted reports whether metadata.no_delivery is anything but false, null, 0 or empty.
func unwanted(metadata json.RawMessage) bool {
	v, err := canonical.Parse(metadata, canonical.Limits{})
	if err != nil || v.Kind() != canonical.Object {
		return false
	}
	m, ok := v.Get("no_delivery")
	if !ok {
		return false
	}
	switch m.Kind() {
	case canonical.Null:
		return false
	case canonical.Bool:
		return m.Bool()
	case canonical.Number:
		return m.Float() != 0
	case canonical.String:
		return m.Text() != ""
	}
	return true
}

func draft(j *job.Job, terminal int, target job.OutboxTarget, url string, body any) (Draft, error) {
	out, err := plainjson.Marshal(body) // the job's own JSON stays as it is
	if err != nil {
		return Draft{}, fmt.Errorf("delivery: body: %w", err)
	}
	return Draft{
		Key: job.OutboxKey{JobID: j.ID, Terminal: terminal, Target: target}, URL: url, Body: out,
		Preview: textlimit.Cut(string(out), previewMax),
	}, nil
}

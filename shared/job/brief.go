package job

import (
	"encoding/json"
	"time"

	"bailing/shared/textlimit"
)

// Brief is what a list shows of a job: nothing of it is large, so that a list is read without the values of its jobs.
type Brief struct {
	ID        string
	RequestID string
	Status    Status
	Route     string
	Target    string
	Profile   string
	Project   string
	Source    string
	Owner     string
	SessionID string
	ThreadID  int64
	Preview   string // the beginning of the input
	Summary   string // the beginning of what came of the job; "" until it ended
	CreatedAt time.Time
	UpdatedAt time.Time
}

// summaryMax is how much of a result a list shows, in UTF-16 units.
const summaryMax = 200

// BriefOf makes the brief of a whole job.
func BriefOf(j *Job) Brief {
	b := Brief{
		ID: j.ID, RequestID: j.RequestID, Status: j.Status, Route: j.Snapshot.RouteKey, Target: j.Snapshot.Target, Profile: j.Profile,
		Project: j.Project, Source: j.Source, Owner: j.Owner, SessionID: j.SessionID, ThreadID: j.ThreadID,
		Preview: textlimit.Cut(j.Input, previewMax), CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}
	if j.Status.Terminal() {
		b.Summary = SummaryOf(j.Result, j.Error)
	}
	return b
}

// SummaryOf is one line about how a job ended: its error, or the beginning of its text.
func SummaryOf(result json.RawMessage, reason string) string {
	if reason != "" {
		return textlimit.Cut(reason, summaryMax)
	}
	var r struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(result, &r) != nil { // a result without a text has no summary
		return ""
	}
	return textlimit.Cut(r.Text, summaryMax)
}

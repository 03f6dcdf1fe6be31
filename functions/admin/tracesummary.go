package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"bailing/shared/apierr"
	"bailing/shared/job"
	"bailing/shared/lambdahttp"
)

// traceSummary counts what happened to a job (the members are those of the reference).
type traceSummary struct {
	JobID           string         `json:"job_id"`
	RequestID       string         `json:"request_id"`
	Status          job.Status     `json:"status"`
	StageCount      map[string]int `json:"stage_count"`
	EventCount      int            `json:"event_count"`
	ErrorCount      int            `json:"error_count"`
	WarningCount    int            `json:"warning_count"`
	ToolCalls       int            `json:"tool_calls"`
	ToolResults     int            `json:"tool_results"`
	Approvals       int            `json:"approvals"`
	Deliveries      int            `json:"deliveries"`
	LLMRequests     int            `json:"llm_requests"`
	Perceptions     int            `json:"perceptions"`
	KnowledgeEvents int            `json:"knowledge_events"`
	DurationMS      *int64         `json:"duration_ms"` // null until the job ended
}

// stages are those of core §11.7; each has a count, even when nothing happened in it.
var stages = []string{
	"launch", "context", "execution", "tool", "approval", "delivery", "summary", "recovery", "channel", "config", "system",
}

func summarize(j *job.Job, records []json.RawMessage, tickets int) (traceSummary, error) {
	s := traceSummary{
		JobID: j.ID, RequestID: j.RequestID, Status: j.Status, EventCount: len(records), Approvals: tickets,
		StageCount: map[string]int{},
	}
	for _, name := range stages {
		s.StageCount[name] = 0
	}
	for _, record := range records {
		var e struct{ Event, Stage, Severity string }
		if err := json.Unmarshal(record, &e); err != nil {
			return s, fmt.Errorf("admin: audit record: %w", err)
		}
		s.StageCount[e.Stage]++
		if e.Stage == job.StageDelivery {
			s.Deliveries++
		}
		switch e.Severity {
		case job.Severe:
			s.ErrorCount++
		case job.Warning:
			s.WarningCount++
		}
		switch {
		case e.Event == "tool_call":
			s.ToolCalls++
		case e.Event == "tool_result":
			s.ToolResults++
		case e.Event == "llm_request":
			s.LLMRequests++
		case e.Event == "perception":
			s.Perceptions++
		case strings.HasPrefix(e.Event, "kb_"):
			s.KnowledgeEvents++
		}
	}
	var usage struct {
		DurationMS *int64 `json:"duration_ms"`
	}
	if json.Unmarshal(j.Usage, &usage) == nil {
		s.DurationMS = usage.DurationMS
	}
	return s, nil
}

// writeLines writes a trace for programs that read line by line: the job, its tickets, and the records, oldest first. Each line
// is {"type":"job"|"approval"|"event", <type>: …}.
func writeLines(w http.ResponseWriter, r *http.Request, t *trace) {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	line := func(kind string, v any) error { return e.Encode(map[string]any{"type": kind, kind: v}) }
	err := line("job", t.Job)
	for _, a := range t.Approvals {
		err = errors.Join(err, line("approval", a))
	}
	for _, ev := range t.Trace.Events {
		err = errors.Join(err, line("event", ev))
	}
	if err != nil {
		lambdahttp.WriteError(w, r, apierr.Wrap(apierr.Internal, "internal_error", err))
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/x-ndjson; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Disposition", `attachment; filename="`+t.Job.JobID+`.jsonl"`)
	// The connection is the caller's: a failed write has nobody to tell.
	_, _ = w.Write([]byte(out.String()))
}

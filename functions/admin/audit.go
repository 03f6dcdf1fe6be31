package admin

import (
	"encoding/json"
	"fmt"
	"net/http"

	"bailing/shared/apierr"
	"bailing/shared/lambdahttp"
	"bailing/shared/redact"
	"bailing/shared/textlimit"
)

// auditMax bounds the details in one answer, in bytes: a Lambda's answer ends at 6 MB. Past it records come without theirs,
// so that the timeline is whole.
const auditMax = 4 << 20

// JobAudit serves GET /admin/api/runs/{job}/audit. Details pass through the display rules of core §11.7.
func (h *Handler) JobAudit(w http.ResponseWriter, r *http.Request) {
	id, ok := textlimit.NormalizeUUID(r.PathValue("job"))
	if !ok {
		lambdahttp.WriteError(w, r, apierr.New(apierr.NotFound, "not found"))
		return
	}
	records, err := h.d.Audit.JobAudit(r.Context(), id)
	if err == nil {
		records, err = display(records, auditMax)
	}
	answer(w, r, records, err)
}

// display redacts records and leaves details out once they have used up room bytes.
func display(records []json.RawMessage, room int) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(records))
	for i, record := range records {
		shown, err := redact.JSON(record)
		if err != nil {
			return nil, fmt.Errorf("admin: audit record: %w", err)
		}
		if len(shown) > room {
			if shown, err = withoutDetail(shown); err != nil {
				return nil, err
			}
		}
		room = max(0, room-len(shown))
		out[i] = shown
	}
	return out, nil
}

func withoutDetail(record []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(record, &members); err != nil {
		return nil, fmt.Errorf("admin: audit record: %w", err)
	}
	members["detail"] = json.RawMessage(fmt.Sprintf(`{"omitted_bytes":%d}`, len(members["detail"])))
	return json.Marshal(members)
}

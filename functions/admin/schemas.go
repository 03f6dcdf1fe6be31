package admin

import (
	"encoding/json"
	"net/http"

	"bailing/shared/apierr"
	"bailing/shared/contract"
	"bailing/shared/lambdahttp"
	"bailing/shared/textlimit"
)

// ConfigSchema serves GET /admin/api/config-schemas/{name}: the JSON Schema of a configuration object, which is also served
// without a credential below /schemas/config/ (core §1.7).
func (h *Handler) ConfigSchema(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	schema, ok := []byte(nil), textlimit.ResourceName(name)
	if ok {
		schema, ok = contract.Schema("config/" + name + ".schema.json")
	}
	if !ok {
		lambdahttp.WriteError(w, r, apierr.New(apierr.NotFound, "not found"))
		return
	}
	apierr.WriteJSON(w, http.StatusOK, json.RawMessage(schema))
}

package admin

import (
	"net/http"

	"bailing/shared/lambdahttp"
)

// PreviewAuto serves POST /admin/api/routes/auto-preview (core §1.4). It reads, although it is a POST (core §10.2).
func (h *Handler) PreviewAuto(w http.ResponseWriter, r *http.Request) {
	body, err := lambdahttp.ReadJSON(r, h.d.BodyMax)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	preview, err := h.d.Registry.PreviewAuto(r.Context(), body)
	answer(w, r, preview, err)
}

package business

import "net/http"

// spec serves the document to whoever signs the read (core §3.5). A document for signed reads is for nobody's cache.
func (b *Business) spec(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "private, no-store")
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		fail(w, http.StatusMethodNotAllowed, "method not allowed")
		return
	}
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	good := b.authentic(r, body)
	b.records.addRead(SpecRead{Signed: r.Header.Get("X-Bailing-Signature") != "", Served: good, At: b.o.Clock.Now()})
	if !good {
		fail(w, http.StatusUnauthorized, "bad signature")
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(Spec())
}

// probe answers whether a subject would be allowed (core §3.7), by the rule that the operations obey. It does nothing else.
func (b *Business) probe(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	if !b.authentic(r, body) {
		b.records.reject()
		send(w, reply{http.StatusUnauthorized, map[string]any{"authorized": false, "error": "bad_signature"}})
		return
	}
	subject := r.Header.Get("X-Bailing-On-Behalf-Of")
	b.mu.Lock()
	allowed := b.shop.authorizes(subject)
	b.mu.Unlock()
	b.records.addProbe(Probe{Subject: subject, Authorized: allowed, At: b.o.Clock.Now()})
	send(w, reply{http.StatusOK, map[string]any{"authorized": allowed}})
}

package sim

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"bailing/shared/topology"
)

// minute is what happens by itself every minute of the faulty part.
func (w *world) minute() {
	if !w.faulty {
		return
	}
	if at := w.due(); w.flip(w.mix.sweep) || !at.IsZero() && !at.After(time.Now()) {
		w.sweep()
		if w.flip(0.2) {
			w.in(w.between(0, time.Second), w.sweep)
		}
	}
	if w.flip(w.mix.jump) && len(w.pool) > 0 {
		i := pick(w.schedule, w.pool...)
		by := w.between(time.Minute, 45*time.Minute)
		w.trace.add("the clock of %s jumps by %s", i.name, by)
		w.faults++
		i.clock.by.Add(int64(by))
	}
	if w.flip(w.mix.operator) {
		w.operate()
	}
}

// operate lets an administrator do something.
func (w *world) operate() {
	admin := func(method, path string, body any) {
		w.api(method, path, w.config.ServerToken, body, func(int, []byte) {})
	}
	switch w.rng.IntN(11) {
	case 8:
		w.toggle("routes/" + pick(w.schedule, w.routes...))
	case 9: // what a tool is for is told in other words, which changes no approval
		b := pick(w.schedule, w.businesses...)
		w.revision++
		w.settings["tool-providers/"+b]["spec_json"] = w.published(b, fmt.Sprintf("always, says revision %d", w.revision))
		w.save("tool-providers/" + b)
	case 10:
		for _, r := range w.scan(topology.TableJobs) {
			if strings.HasPrefix(r.str("sk"), "outbox#") && r.str("state") == "dead" && r["resolved"].N == nil {
				parts := strings.Split(r.str("sk"), "#")
				id := fmt.Sprintf("%s_%s_%s", strings.TrimPrefix(r.str("pk"), "job#"), strings.TrimLeft(parts[1], "0"), parts[2])
				admin(http.MethodPost, "/admin/api/delivery-dlq/"+id+"/"+pick(w.schedule, "resend", "resolve"), map[string]any{})
				break
			}
		}
	case 5, 6:
		w.administer()
	case 7:
		w.reconcile()
	case 0:
		w.paused = !w.paused
		admin(http.MethodPost, map[bool]string{true: "/admin/pause", false: "/admin/resume"}[w.paused], nil)
	case 1:
		w.toggle("tool-providers/" + pick(w.schedule, w.businesses...))
	case 2:
		w.toggle("clients/" + pick(w.schedule, w.clients...).name)
	case 3:
		if j := pick(w.schedule, w.jobs...); j.id != "" {
			admin(http.MethodPost, "/admin/api/runs/"+j.id+"/rerun", nil)
		}
	case 4:
		admin(http.MethodPost, "/admin/api/delivery-dlq/replay", map[string]any{})
	}
}

// reconcile lets an administrator close a call of unknown outcome.
func (w *world) reconcile() {
	for _, r := range w.scan(topology.TableJobs) {
		if state := r.str("state"); !strings.HasPrefix(r.str("sk"), "call#") || state != "dispatching" && state != "uncertain" {
			continue
		}
		body := map[string]any{"outcome": "not_happened", "reason": "looked it up"}
		if w.times[effect{strings.TrimPrefix(r.str("pk"), "job#"), r.str("tool"), r.str("hash")}] > 0 {
			body = map[string]any{"outcome": "happened", "status": 200, "reason": "looked it up"}
		}
		path := fmt.Sprintf("/admin/api/reconciliations/%s/%s/close", strings.TrimPrefix(r.str("pk"), "job#"), r.str("key"))
		w.api(http.MethodPost, path, w.config.ServerToken, body, func(status int, answer []byte) {
			if status == http.StatusBadRequest {
				w.fail("", "close: %d %s", status, answer)
			}
		})
		return
	}
}

// toggle switches a provider or a client off, or on again.
func (w *world) toggle(name string) {
	w.off[name] = !w.off[name]
	w.save(name)
}

func (w *world) save(name string) {
	kind, _, _ := strings.Cut(name, "/")
	body := map[string]any{"enabled": !w.off[name]}
	for k, v := range w.settings[name] {
		body[k] = v
	}
	w.api(http.MethodPost, "/admin/api/"+kind, w.config.ServerToken, body, func(status int, answer []byte) {
		if status >= 400 && status < 500 && status != http.StatusConflict && status != http.StatusTooManyRequests {
			w.fail("", "save %s: %d %s", name, status, answer)
		}
	})
}

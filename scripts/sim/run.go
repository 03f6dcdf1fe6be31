package sim

import (
	"maps"
	"slices"
	"time"
)

// Run plays one schedule. It must be called in a bubble of testing/synctest.
func Run(o Options) Report {
	w := newWorld(o)
	if err := w.open(); err != nil {
		w.fail("", "set-up: %v", err)
	} else {
		w.play()
	}
	w.close()
	return Report{
		Seed: o.Seed, Schedule: o.Schedule, Mix: w.mix.name, Faults: w.faults, Steps: w.steps, Jobs: len(w.jobs),
		Duplicates: w.duplicates, LostApprovals: w.lostApprovals, LostJobs: w.lostJobs, Stuck: w.stuck,
		Failures: w.failures, Tail: w.trace.last(), Hash: w.trace.hash(), Virtual: time.Since(w.trace.start), Seen: w.seen, Logs: w.logs.b.String(),
	}
}

// play lets the schedule happen: some time with faults, then as much without them as everything needs to come to rest.
func (w *world) play() {
	w.pool = nil // whoever was started without faults has a clock that is right
	w.faulty = true
	w.plan()
	w.run(time.Now().Add(w.between(time.Minute, 10*time.Minute)))
	w.faulty = false
	w.trace.add("the faults are over")
	w.run(time.Now().Add(2 * time.Minute)) // what administrators asked for last is late, and must not come after what follows
	w.restore()
	w.healthy = time.Now()
	w.rest()
	if !w.proved() {
		w.again()
	}
	w.check()
}

// again sends everything once more that was answered, and reads what everybody may read: nothing happens again (I9), and no secret
// is shown (I10).
func (w *world) again() {
	sent := len(w.arrivals)
	for _, j := range w.jobs {
		if j.id != "" {
			w.submit(j)
			w.run(time.Now().Add(time.Second))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.tickets)) {
		t := w.tickets[id]
		for _, d := range t.decisions {
			if d.accepted != "" && d.id != "" {
				w.decide(t, d, false)
				w.run(time.Now().Add(time.Second))
			}
		}
	}
	paths := []string{
		"/health", "/admin/api/clients", "/admin/api/tool-providers", "/admin/api/credentials", "/admin/api/routes",
		"/admin/api/runs", "/admin/api/tool-approvals", "/admin/api/delivery-dlq", "/admin/api/reconciliations", "/admin/api/config-audit", "/admin/api/config-diagnostics",
	}
	if j := w.jobs[0]; j.id != "" {
		run := "/admin/api/runs/" + j.id
		paths = append(paths, "/jobs/"+j.id, run, run+"/audit", run+"/trace", run+"/deliveries")
	}
	for _, path := range paths {
		w.api("GET", path, w.config.ServerToken, nil, func(status int, answer []byte) {
			if status != 200 {
				w.fail("", "%s: %d %.300s", path, status, answer)
			}
			w.look("the answer of "+path, answer)
		})
		w.run(time.Now().Add(time.Second))
	}
	w.run(time.Now().Add(time.Minute))
	if len(w.arrivals) > sent {
		w.fail("I9", "a repeated request or decision led to a call: %s", w.arrivals[sent].tool)
	}
}

// restore switches everything on again, and replaces instances whose clock is wrong.
func (w *world) restore() {
	for _, i := range w.pool {
		if !i.busy {
			i.dead.Store(true)
		} else {
			i.clock.by.Store(0)
		}
	}
	on := func() {
		w.paused = false
		w.api("POST", "/admin/resume", w.config.ServerToken, nil, func(status int, answer []byte) {
			if status != 200 {
				w.fail("", "resume: %d %s", status, answer)
			}
		})
	}
	on()
	for _, b := range w.businesses {
		w.off["tool-providers/"+b] = false
		w.save("tool-providers/" + b)
		w.run(time.Now().Add(time.Second))
	}
	for _, r := range w.routes {
		w.off["routes/"+r] = false
		w.save("routes/" + r)
		w.run(time.Now().Add(time.Second))
	}
	for _, c := range w.clients {
		w.off["clients/"+c.name] = false
		w.save("clients/" + c.name)
		w.run(time.Now().Add(time.Second))
	}
}

// rest lets time pass until nothing is due any more.
func (w *world) rest() {
	w.run(time.Now().Add(time.Minute))
	for range 200 {
		if w.proved() {
			return
		}
		next := w.due()
		if at, ok := w.aws.StepFunctions().Next(); ok && (next.IsZero() || at.Before(next)) {
			next = at
		}
		if next.IsZero() && !w.underWay() {
			return
		}
		// Sweeps come every minute: what is due until then is seen together.
		w.run(next.Add(w.between(0, time.Minute)))
		w.sweep()
		w.run(time.Now().Add(5 * time.Second))
		for w.underWay() && w.steps < maxSteps && !w.proved() {
			w.run(time.Now().Add(time.Minute))
		}
	}
	w.stuck++
	w.fail("I5", "the hub does not come to rest")
}

// underWay reports whether an invocation runs or a request has no answer yet.
func (w *world) underWay() bool {
	for _, i := range w.pool {
		if i.busy && !i.dead.Load() {
			return true
		}
	}
	for _, j := range w.jobs {
		if j.id == "" && j.refused == "" {
			return true
		}
	}
	return w.busy()
}

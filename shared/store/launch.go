package store

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/registry"
)

var (
	_ job.LaunchStore = (*Store)(nil)
	_ job.ReadStore   = (*Store)(nil)
)

// ReadLaunch reads everything that decides a submission but its target and thread: one trip.
func (s *Store) ReadLaunch(ctx context.Context, k job.LaunchKeys) (job.LaunchView, error) {
	refs := []ref{s.pauseRef()}
	add := func(name string, r ref) int {
		if name == "" {
			return -1
		}
		refs = append(refs, r)
		return len(refs) - 1
	}
	token := add(k.TokenHash, s.tokenRef(k.TokenHash))
	bucket := add(k.TokenHash, s.limitRef(clientLimit(k.TokenHash)))
	route := add(k.Route, s.recordRef(kindRoute, k.Route))
	request := add(k.RequestID, s.requestRef(k.RequestID))

	items, err := s.batchGet(ctx, refs...)
	if err != nil {
		return job.LaunchView{}, err
	}
	at := func(i int) item {
		if i < 0 {
			return nil
		}
		return items[i]
	}
	if err := s.resolveDocs(ctx, at(token), at(route)); err != nil {
		return job.LaunchView{}, err
	}
	v := job.LaunchView{Paused: isPaused(items[0]), Request: decodeRequest(at(request))}
	if v.Token, err = decodeToken(at(token)); err != nil {
		return v, err
	}
	r, err := decodeRecord[registry.Route](at(route))
	if err != nil {
		return v, err
	}
	if r != nil {
		v.Route = &r.Value
	}
	if k.TokenHash != "" {
		v.Limit, err = decodeLimit(clientLimit(k.TokenHash), at(bucket))
	}
	return v, err
}

// ReadThread reads the target and the thread: one trip.
func (s *Store) ReadThread(ctx context.Context, target, threadKey string) (*registry.Target, job.Thread, error) {
	items, err := s.batchGet(ctx, s.recordRef(kindTarget, target), s.threadRef(threadKey))
	if err != nil {
		return nil, job.Thread{}, err
	}
	t, err := s.target(ctx, target, items[0])
	return t, decodeThread(threadKey, items[1]), err
}

// ReadReplay reads the state of a job and a target, if one is named: one trip.
func (s *Store) ReadReplay(ctx context.Context, jobID, target string) (job.Status, *registry.Target, error) {
	refs := []ref{s.jobRef(jobID)}
	if target != "" {
		refs = append(refs, s.recordRef(kindTarget, target))
	}
	items, err := s.batchGet(ctx, refs...)
	if err != nil {
		return "", nil, err
	}
	if items[0] == nil {
		return "", nil, job.ErrNotFound
	}
	if target == "" {
		return job.Status(getStr(items[0], "state")), nil, nil
	}
	t, err := s.target(ctx, target, items[1])
	return job.Status(getStr(items[0], "state")), t, err
}

// target reads a target's item. One that is built in need not be stored.
func (s *Store) target(ctx context.Context, name string, it item) (*registry.Target, error) {
	if it == nil {
		if t, ok := registry.BuiltinTarget(name); ok {
			return &t, nil
		}
		return nil, nil
	}
	if err := s.resolveDocs(ctx, it); err != nil {
		return nil, err
	}
	t, err := decodeRecord[registry.Target](it)
	if t == nil || err != nil {
		return nil, err
	}
	return &t.Value, nil
}

// CreateJob is one transaction: {job, request id, thread, audit record}; a rejected job takes no place in its thread.
func (s *Store) CreateJob(ctx context.Context, j *job.Job, e job.RequestEntry, t job.Thread, ev job.Event) error {
	it, err := s.encodeJob(ctx, j)
	if err != nil {
		return err
	}
	audit, err := s.putEvent(ctx, j.ID, ev)
	if err != nil {
		return err
	}
	const iRequest, iThread = 0, 3
	actions := []types.TransactWriteItem{putNew(s.jobs(), encodeRequest(e)), putNew(s.jobs(), it), audit}
	if j.Status != job.Rejected {
		actions = append(actions, s.putThread(t))
	}
	err = s.transact(ctx, actions...)
	var failed *ConditionFailed
	if !errors.As(err, &failed) {
		return err
	}
	if failed.Failed[iRequest] {
		return &job.RequestTaken{Entry: *decodeRequest(failed.Items[iRequest])}
	}
	if len(actions) > iThread && failed.Failed[iThread] {
		return &job.ThreadMoved{Now: decodeThread(t.Key, failed.Items[iThread])}
	}
	return err
}

// putThread stores t if the thread is still at t.Version.
func (s *Store) putThread(t job.Thread) types.TransactWriteItem {
	if t.Version == 0 {
		return putNew(s.jobs(), encodeThread(t))
	}
	return put(s.jobs(), encodeThread(t), "ver = :ver", nil, item{":ver": num(t.Version)})
}

// ReadOwned reads a token and a job: one trip, and one object read when the job is large.
func (s *Store) ReadOwned(ctx context.Context, tokenHash, jobID string) (*registry.Token, *job.Job, error) {
	var refs []ref
	var token, found item
	if tokenHash != "" {
		refs = append(refs, s.tokenRef(tokenHash))
	}
	if jobID != "" {
		refs = append(refs, s.jobRef(jobID))
	}
	if len(refs) == 0 {
		return nil, nil, nil
	}
	items, err := s.batchGet(ctx, refs...)
	if err != nil {
		return nil, nil, err
	}
	if tokenHash != "" {
		token = items[0]
	}
	if jobID != "" {
		found = items[len(items)-1]
	}
	if err := s.resolveDocs(ctx, token); err != nil {
		return nil, nil, err
	}
	t, err := decodeToken(token)
	if err != nil {
		return nil, nil, err
	}
	j, err := s.decodeJob(ctx, found)
	return t, j, err
}

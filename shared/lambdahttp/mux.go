package lambdahttp

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"bailing/shared/apierr"
	"bailing/shared/lambdahttp/routetree"
	"bailing/shared/topology"
)

// Mux is the router of one function: the handlers by the name that their route gives them (topology.Route.Handler).
// It fails when a route's handler is missing, when a handler belongs to no route, and when two routes collide.
//
// A method and path that the topology does not list is 404 {"error":"not found"} (core §0.1), whatever other methods
// the path has: GET does not imply HEAD. Handlers find path parameters in r.PathValue, decoded, under the names of the
// topology ("proxy" for {proxy+}), and "METHOD /resource/{pattern}" in r.Pattern.
func Mux(fn topology.Function, handlers map[string]http.HandlerFunc) (http.Handler, error) {
	return MuxElse(fn, handlers, func(w http.ResponseWriter, _ *http.Request) {
		apierr.Write(w, apierr.New(apierr.NotFound, "not found"), "")
	})
}

// MuxElse is [Mux] with an answer of its own to what no route takes.
func MuxElse(fn topology.Function, handlers map[string]http.HandlerFunc, unknown http.HandlerFunc) (http.Handler, error) {
	var tree routetree.Tree[http.HandlerFunc]
	var errs []error
	unused := maps.Clone(handlers)
	for _, r := range fn.Routes {
		h := handlers[r.Handler]
		delete(unused, r.Handler)
		if h == nil {
			errs = append(errs, fmt.Errorf("function %s: no handler %s for %s %s", fn.Name, r.Handler, r.Method, r.Path))
			continue
		}
		if err := tree.Add(r.Method, r.Path, h); err != nil {
			errs = append(errs, fmt.Errorf("function %s: %w", fn.Name, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		errs = append(errs, fmt.Errorf("function %s: handler %s serves no route", fn.Name, name))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, ok := tree.Match(r.Method, r.URL.EscapedPath())
		if !ok {
			unknown(w, r)
			return
		}
		for name, value := range m.Params {
			r.SetPathValue(name, value)
		}
		r.Pattern = r.Method + " " + m.Resource
		m.Value(w, r)
	}), nil
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"bailing/scripts/routes/handlers"
	"bailing/shared/topology"
)

func main() {
	if err := printRoutes(os.Stdout, topology.System(), "."); err != nil {
		fmt.Fprintln(os.Stderr, "routes:", err)
		os.Exit(1)
	}
}

// printRoutes writes one row per route and one per function without routes. Missing handlers are shown as "?" and returned
// as an error at the end, so that the table is complete either way.
func printRoutes(w io.Writer, t topology.Topology, root string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ROUTE\tAUTH\tFUNCTION\tHANDLER\tFILE")
	var errs []error
	for _, f := range t.Functions {
		if len(f.Routes) == 0 {
			fmt.Fprintf(table, "%s\t-\t%s\t-\t%s\n", trigger(f), f.Name, f.Package())
			continue
		}
		found, err := handlers.Find(filepath.Join(root, filepath.FromSlash(f.Package())))
		if err != nil {
			errs = append(errs, err)
		}
		for _, r := range f.Routes {
			where := "?"
			if at, ok := found[r.Handler]; ok {
				where = fmt.Sprintf("%s/%s:%d", f.Package(), filepath.Base(at.Filename), at.Line)
			} else {
				errs = append(errs, fmt.Errorf("%s %s: %s has no handler %s", r.Method, r.Path, f.Package(), r.Handler))
			}
			fmt.Fprintf(table, "%s %s\t%s\t%s\t%s\t%s\n", r.Method, r.Path, r.Auth, f.Name, r.Handler, where)
		}
	}
	return errors.Join(append(errs, table.Flush())...)
}

func trigger(f topology.Function) string {
	if f.Queue != "" {
		return "queue " + f.Queue
	}
	return fmt.Sprintf("every %s", f.Every)
}

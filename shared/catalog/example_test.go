package catalog_test

import (
	"context"
	"fmt"

	"bailing/shared/capability"
	"bailing/shared/catalog"
	"bailing/shared/registry"
)

// What an agent without a person behind it sees of a route that lets it write with one of two tools, after approval.
func Example() {
	stored := values{}
	provider := &registry.Provider{Name: "depot", Enabled: true, CatalogHash: stored.put([]capability.Tool{
		read("bay_stock_get", described("depot.stock.read", "Read the pallet count of one bay.")),
		write("bay_stock_update", described("depot.stock.write", "Adjust the pallet count of one bay.")),
		write("bay_close", described("depot.bays.write", "Close a bay.")),
	})}

	var cache catalog.Cache // kept for the life of the process
	sources := []registry.ToolSource{{Provider: "depot", Allow: []string{"depot.*"}}}
	found, err := cache.Attach(context.Background(), stored, sources, map[string]*registry.Provider{"depot": provider})
	if err != nil {
		fmt.Println(err)
		return
	}
	surface := catalog.NewSurface(found, catalog.Access{
		Route: "depot-desk", Permission: "readwrite",
		Direct: catalog.Direct{
			Enabled: true, WriteTools: []string{"bay_stock_update"}, ForceApproval: []string{"bay_stock_update"},
		},
	})

	answer := surface.Search("adjust the count", 8)
	for _, tool := range answer.Tools {
		fmt.Println(tool.Name, "approval:", tool.ApprovalRequired)
	}
	fmt.Println(answer.Discovery.ReturnedCount, "of", answer.Discovery.AuthorizedTotal)
	// Output:
	// bay_stock_update approval: true
	// bay_stock_get approval: false
	// 2 of 2
}

package compile

// Version rises with every change that makes the same document compile to another catalogue. Stored catalogues of an earlier
// version are compiled anew from the stored text.
const Version = 2

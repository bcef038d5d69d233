//! Output: one file per format. Sees findings and the inventory, never files or the network.

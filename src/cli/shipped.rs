//! The zones that lie in `zones/`, in the program: for commands that must work anywhere.

/// Each file's name and text.
pub(super) const ZONES: [(&str, &str); 3] = [
    ("customers.geojson", include_str!("../../zones/customers.geojson")),
    ("depots.geojson", include_str!("../../zones/depots.geojson")),
    ("roads.geojson", include_str!("../../zones/roads.geojson")),
];

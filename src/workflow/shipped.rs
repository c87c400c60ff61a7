static SHIPPED: &[(&str, &str)] = &[];

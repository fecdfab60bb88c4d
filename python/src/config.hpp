// What is fixed when weights are packed, by its names.
#pragma once

#include <nanobind/nanobind.h>

namespace headroom::python {

void bind_config(nanobind::module_& module);

}  // namespace headroom::python

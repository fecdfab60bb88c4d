/// @file
/// The version of the library.
#pragma once

#include "headroom/version.h"

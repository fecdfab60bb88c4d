/// @file
/// Everything a user needs, in one include.
#pragma once

#include "headroom/attention.hpp"
#include "headroom/backend.hpp"
#include "headroom/call_sizes.hpp"
#include "headroom/dot_product.hpp"
#include "headroom/dropout.hpp"
#include "headroom/dtype.hpp"
#include "headroom/error.hpp"
#include "headroom/head_share.hpp"
#include "headroom/initialise.hpp"
#include "headroom/isa.hpp"
#include "headroom/layer_config.hpp"
#include "headroom/load_weights.hpp"
#include "headroom/mask_view.hpp"
#include "headroom/precision.hpp"
#include "headroom/storage.hpp"
#include "headroom/unit.hpp"
#include "headroom/version.hpp"
#include "headroom/view.hpp"
#include "headroom/weights.hpp"

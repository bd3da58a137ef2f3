#include "launcher/plan/job_size_rules.h"

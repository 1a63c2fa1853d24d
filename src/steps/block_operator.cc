#include "steps/block_operator.h"

namespace stepstore::steps {

namespace {

class LeavingDataOut final : public BlockOperator {
public:
    Codec codec() const override { return Codec::left_out; }
    std::optional<Bytes> apply(Bytes, Type, DimsView, DimsView) override { return Bytes(); }
};

} // namespace

std::shared_ptr<BlockOperator> leaving_data_out()
{
    return std::make_shared<LeavingDataOut>();
}

} // namespace stepstore::steps

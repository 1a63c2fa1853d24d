#include "steps/block_operator.h"

namespace stepstore::steps {

namespace {

class LeavingDataOut final : public BlockOperator {
public:
    explicit LeavingDataOut(bool looks) : looks_(looks) {}
    Codec codec() const override { return Codec::left_out; }
    bool looks() const override { return looks_; }
    std::optional<Bytes> apply(Bytes, Type, DimsView, DimsView) override { return Bytes(); }

private:
    bool looks_;
};

} // namespace

std::shared_ptr<BlockOperator> leaving_data_out()
{
    return std::make_shared<LeavingDataOut>(true);
}

std::shared_ptr<BlockOperator> leaving_all_out()
{
    return std::make_shared<LeavingDataOut>(false);
}

} // namespace stepstore::steps

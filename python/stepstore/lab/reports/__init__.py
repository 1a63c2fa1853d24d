"""The page of `stepstore report`: every figure and statement that commands have left in folders."""

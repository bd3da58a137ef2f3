version: str
cuda: str
